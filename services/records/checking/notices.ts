/** What `records check` can notice, in the order in which it is said: the rows of docs/records-check.md. */
const table = `
| \`bad_line\` | error | a line is no record | correct what makes the lines: the field is named |
| \`bad_record\` | error | the projector would reject the record | correct what publishes it: field and rule are named |
| \`no_records\` | warning | there is no record | look at what makes them: a query that failed leaves an empty file |
| \`unknown_metro\` | warning | the metro has no record | publish the metro, or correct the slug: a ride without its metro is shown nowhere |
| \`unknown_district\` | warning | the district has no record | publish the district, or correct the slug: no neighbourhood is shown |
| \`unknown_ride\` | warning | the ride has no record | publish the ride, or a tombstone of the night |
| \`unknown_night\` | warning | the night has no record | publish the night, or tombstones of the answers for it |
| \`unknown_rider\` | warning | the rider has no record | publish the rider, or tombstones of what an erased rider left, and rides without them |
| \`ride_without_nights\` | warning | a posted ride has no night | publish its nights: each date is a record of its own |
| \`shared_handle\` | warning | riders share a handle | make handles unique, if yours are |
| \`empty_title\` | warning | a ride’s title is empty | publish the ride with a title |
| \`meet_times_near_midnight\` | warning | all meet times lie within 87 seconds of midnight | publish milliseconds since midnight, not seconds or minutes |
| \`misplaced\` | warning | a record is in another partition than its key’s | set KAFKA_PARTITIONER to what the producers use |
| \`changed_at_before_2000\` | warning | changed_at lies before 2000 | publish milliseconds since 1970, not seconds |
| \`changed_at_ahead\` | warning | changed_at lies over a day ahead | publish milliseconds since 1970, not micro- or nanoseconds |
| \`timestamp_before_2000\` | warning | a record’s timestamp lies before 2000 | have the producer set milliseconds since 1970, or none |
| \`timestamp_ahead\` | warning | a record’s timestamp lies over a day ahead | have the producer set milliseconds: compaction stands still behind it |
| \`revision_fell\` | warning | a revision is lower than the one before of its key | publish each key’s changes in their order: the last one counts |
`;

type Severity = 'error' | 'warning';

const kinds = [...table.matchAll(/^\| `(\w+)` \| (\w+) \| (.+) \| (.+) \|$/gm)].map(
  ([row, code, severity, what, fix]) =>
    ({ row, code, severity, what, fix }) as {
      row: string;
      code: string;
      severity: Severity;
      what: string;
      fix: string;
    },
);

/** By code. */
export const notices = new Map(kinds.map((kind) => [kind.code, kind]));

export interface Notice {
  code: string;
  severity: Severity;
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

  add(code: string, detail: string, place: () => string, count = 1): void {
    // A detail may hold a name that others chose.
    const of = this.#found.has(`${code} ${detail}`) || this.#found.size < detailsMax ? detail : 'and others';
    const { severity } = notices.get(code)!;
    const one = this.#found.get(`${code} ${of}`) ?? { code, severity, detail: of, count: 0, places: [] };
    this.#found.set(`${code} ${of}`, one);
    one.count += count;
    if (one.places.length === placesMax) return;
    const at = place();
    if (!one.places.includes(at)) one.places.push(at);
  }

  get all(): Notice[] {
    const order = [...notices.keys()];
    return [...this.#found.values()].sort((a, b) => order.indexOf(a.code) - order.indexOf(b.code) || b.count - a.count);
  }
}
