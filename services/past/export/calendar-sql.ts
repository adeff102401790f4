import type { ExportedTopic } from './log-tables.ts';

/**
 * `calendar.sql`, for DuckDB: views of an export's files, and the calendar as of an instant. Its nights show what
 * answers show (docs/rules.md#secret-neighbourhood, #cancellation-reason, #posted).
 */
export function calendarSql(topics: readonly ExportedTopic[]): string {
  const isPersonal = topics.includes('attendance');
  return `-- Views and a macro for DuckDB over the Parquet files beside this one. In their folder: duckdb -init calendar.sql
-- Instants are TIMESTAMP WITH TIME ZONE: give them as text with an offset, such as '2015-06-13T19:00:00Z'.

${[...topics, 'days', 'ride_pages'].map((name) => `CREATE OR REPLACE VIEW ${name} AS FROM read_parquet('${name}.parquet');`).join('\n')}

-- The nights that were published at an instant, as answers give them but for the past flag${isPersonal ? '' : ', and for going_count, which takes an export with --personal'}.
CREATE OR REPLACE MACRO as_of(t) AS TABLE
SELECT night.ride, ride.title, night.day, ${minute} AS meet_time, ride.metro, metro.time_zone,
  CASE night.status WHEN 'CANCELLED' THEN 'cancelled' ELSE 'on' END AS status,
  CASE WHEN night.status = 'CANCELLED' THEN nullif(night.cancellation_reason, '') END AS cancellation_reason,${isPersonal ? goingCount : ''}
  coalesce(night.secret, false) AS withheld,
  CASE WHEN NOT night.secret THEN nullif(night.place_name, '') END AS place_name,
  CASE WHEN NOT night.secret OR night.show_neighbourhood THEN district.name END AS neighbourhood,
  night.url
FROM nights AS night
JOIN rides AS ride ON ride.ride = night.ride AND ${at('ride')} AND ride.posted
JOIN metros AS metro ON metro.metro = ride.metro AND ${at('metro')}
LEFT JOIN districts AS district ON district.district = night.district AND ${at('district')}
WHERE ${at('night')}
ORDER BY night.day, ${minute} NULLS LAST, ride.title, night.ride;
`;
}

/** docs/rules.md#meet-time */
const minute = 'make_time(hour(night.meet_time), minute(night.meet_time), 0)';

const at = (table: string): string =>
  `${table}.valid_from <= t::TIMESTAMPTZ AND (${table}.valid_to IS NULL OR ${table}.valid_to > t::TIMESTAMPTZ)`;

const goingCount = `
  (SELECT count(*) FROM attendance AS answer
   JOIN riders AS rider ON rider.rider = answer.rider AND ${at('rider')}
   WHERE answer.ride = night.ride AND answer.day = night.day AND answer.response <> 'NONE' AND ${at('answer')}) AS going_count,`;
