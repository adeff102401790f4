/** What `records check` can notice, in the order in which it is said: docs/records-check.md has the same table. */
export const notices = {
  bad_line: ['error', 'a line is no record', 'mend what makes the lines: the field is named'],
  bad_record: ['error', 'the projector sets the record aside', 'mend what publishes it: field and rule are named'],
  unknown_metro: [
    'warning',
    'a ride names a metro without a record',
    'publish the metro, or mend the slug: such a ride is shown nowhere',
  ],
  unknown_ride: ['warning', 'a night’s ride has no record', 'publish the ride, or a tombstone of the night'],
  unknown_district: [
    'warning',
    'a night names a district without a record',
    'publish the district, or mend the slug: no neighbourhood is shown',
  ],
  unknown_rider: [
    'warning',
    'an RSVP is of a rider without a record',
    'publish the rider, or tombstones of what an erased rider left',
  ],
  ride_without_nights: [
    'warning',
    'a posted ride has no night',
    'publish its nights: each date is a record of its own',
  ],
  shared_handle: ['warning', 'riders share a handle', 'make handles unique, if yours are'],
  empty_title: ['warning', 'a ride’s title is empty', 'publish the ride with a title'],
  meet_times_near_midnight: [
    'warning',
    'all meet times lie within 87 seconds of midnight',
    'publish milliseconds since midnight, not seconds or minutes',
  ],
  misplaced: [
    'warning',
    'a record is in another partition than its key’s',
    'set KAFKA_PARTITIONER to what the producers use',
  ],
  changed_at_before_2000: ['warning', 'changed_at lies before 2000', 'publish milliseconds since 1970, not seconds'],
  changed_at_ahead: [
    'warning',
    'changed_at lies over a day ahead',
    'publish milliseconds since 1970, not micro- or nanoseconds',
  ],
  timestamp_ahead: [
    'warning',
    'a record’s timestamp lies over a day ahead',
    'have the producer set milliseconds: compaction stands still behind it',
  ],
  revision_fell: [
    'warning',
    'a revision is lower than the one before of its key',
    'publish each key’s changes in their order: the last one counts',
  ],
} as const satisfies Record<string, readonly ['error' | 'warning', string, string]>;

export type NoticeCode = keyof typeof notices;

export interface Notice {
  code: NoticeCode;
  severity: 'error' | 'warning';
  /** What of the kind it is: the field and the rule, or a topic. */
  detail: string;
  count: number;
  /** Of the first ones. */
  places: string[];
}

const placesMax = 3;
const detailsMax = 1_000;

/** Counts what was noticed, and keeps the first places. */
export class Notices {
  readonly #found = new Map<string, Notice>();

  add(code: NoticeCode, detail: string, place: () => string, count = 1): void {
    let id = `${code} ${detail}`;
    // A detail may hold a name that others chose.
    if (!this.#found.has(id) && this.#found.size >= detailsMax) id = `${code} and others`;
    const one = this.#found.get(id) ?? {
      code,
      severity: notices[code][0],
      detail: id.slice(code.length + 1),
      count: 0,
      places: [],
    };
    this.#found.set(id, one);
    one.count += count;
    if (one.places.length < placesMax) one.places.push(place());
  }

  get all(): Notice[] {
    const order = Object.keys(notices);
    return [...this.#found.values()].sort((a, b) => order.indexOf(a.code) - order.indexOf(b.code) || b.count - a.count);
  }
}
