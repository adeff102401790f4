import kinds from './notices.json' with { type: 'json' };

/** What `records check` can notice, by code, in the order in which it is said: docs/records-check.md has them all. */
export const notices = new Map(kinds.map((kind) => [kind.code, kind]));

export interface Notice {
  code: string;
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

  add(code: string, detail: string, place: () => string, count = 1): void {
    // A detail may hold a name that others chose.
    const of = this.#found.has(`${code} ${detail}`) || this.#found.size < detailsMax ? detail : 'and others';
    const severity = notices.get(code)!.severity as Notice['severity'];
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
