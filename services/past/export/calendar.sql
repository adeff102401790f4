-- Views and macros for DuckDB over the Parquet files beside this one. In their folder: duckdb -init calendar.sql
-- Instants are TIMESTAMP WITH TIME ZONE: give them as text with an offset, such as '2015-06-13T19:00:00Z'.

-- (views of the tables)

CREATE OR REPLACE MACRO in_force(valid_from, valid_to, instant) AS valid_from <= instant AND (valid_to IS NULL OR valid_to > instant);

-- The nights that were published at each of some instants, as answers give them but for the past flag, and when they start.
-- FROM as_of_each(generate_series('2015-06-01T00:00:00Z'::TIMESTAMPTZ, '2015-06-30T00:00:00Z', INTERVAL 1 DAY));
CREATE OR REPLACE MACRO as_of_each(instants) AS TABLE
WITH asked AS (SELECT unnest(instants)::TIMESTAMPTZ AS instant)
SELECT asked.instant, night.ride, ride.title, night.day,
  make_time(hour(night.meet_time), minute(night.meet_time), 0) AS meet_time, ride.metro, metro.time_zone, night.starts_at,
  CASE night.status WHEN 'CANCELLED' THEN 'cancelled' ELSE 'on' END AS status,
  CASE WHEN night.status = 'CANCELLED' THEN nullif(night.cancellation_reason, '') END AS cancellation_reason,
  coalesce(going.count, 0) AS going_count,
  coalesce(night.secret, false) AS withheld,
  CASE WHEN NOT night.secret THEN nullif(night.place_name, '') END AS place_name,
  CASE WHEN NOT night.secret OR night.show_neighbourhood THEN district.name END AS neighbourhood,
  night.url
FROM asked
JOIN nights AS night ON in_force(night.valid_from, night.valid_to, asked.instant)
JOIN rides AS ride ON ride.ride = night.ride AND in_force(ride.valid_from, ride.valid_to, asked.instant) AND ride.posted
JOIN metros AS metro ON metro.metro = ride.metro AND in_force(metro.valid_from, metro.valid_to, asked.instant)
LEFT JOIN districts AS district ON district.district = night.district AND in_force(district.valid_from, district.valid_to, asked.instant)
LEFT JOIN going_counts AS going
  ON going.ride = night.ride AND going.day = night.day AND in_force(going.valid_from, going.valid_to, asked.instant)
ORDER BY asked.instant, night.day, make_time(hour(night.meet_time), minute(night.meet_time), 0) NULLS LAST, ride.title, night.ride;

-- The same at one instant: FROM as_of('2015-06-13T19:00:00Z');
CREATE OR REPLACE MACRO as_of(t) AS TABLE
SELECT * EXCLUDE (instant) FROM as_of_each([t::TIMESTAMPTZ]);
