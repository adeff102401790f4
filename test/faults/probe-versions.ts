import type { Line } from './history.ts';

/** How high something had risen by when, with the line that says so. */
export interface Rise {
  at: number;
  height: number;
  line: number;
}

/** The highest of what came before a time. */
export class Rises {
  readonly #rises: Rise[] = [];

  /** Times must not fall. */
  add(rise: Rise): void {
    if (rise.height > (this.#rises.at(-1)?.height ?? 0)) this.#rises.push(rise);
  }

  before(at: number): Rise | undefined {
    let [low, high] = [0, this.#rises.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#rises[middle]!.at < at) low = middle + 1;
      else high = middle;
    }
    return this.#rises[low - 1];
  }
}

interface Version {
  n: number;
  gone: boolean;
  sent: number;
  /** From when on nobody may be shown it, because the log lost it. */
  lostBy: number;
  /** Later versions are higher. One that was lost counts as the one before it. */
  age: number;
}

/** The versions of one probe. Before its first one, it is absent. */
export class ProbeVersions {
  /** By when which version must be readable. */
  readonly due = new Rises();
  /** Which version any reader was told. */
  readonly told = new Rises();
  readonly #versions: readonly Version[];
  readonly #numbered: ReadonlyMap<number, Version>;

  /** Of its good records, in their order. */
  constructor(published: readonly Line<'publish'>[], losses: readonly Line<'lost'>[], spans: FaultSpans) {
    let age = 0;
    this.#versions = published.map(({ version, topic, partition, offset, sent, at, line }) => {
      const held = losses.filter((each) => each.topic === topic && each.partition === partition && at <= each.at);
      const loss = held.find(({ offset: from }) => offset !== null && offset >= from);
      const { n, gone } = version!;
      if (!loss) age = n;
      if (!loss && offset !== null) this.due.add({ at: spans.readableBy(at), height: age, line });
      return { n, gone, sent, age, lostBy: loss ? spans.readableBy(loss.at) : Number.POSITIVE_INFINITY };
    });
    this.#numbered = new Map(this.#versions.filter(({ gone }) => !gone).map((version) => [version.n, version]));
  }

  /** The newest that an answer of this time can have shown so; undefined: there was none. Of age 0: absent from the first. */
  newest(shown: number | boolean, until: number): Pick<Version, 'age' | 'lostBy'> | undefined {
    if (typeof shown === 'number') {
      const version = this.#numbered.get(shown);
      return version && version.sent <= until ? version : undefined;
    }
    const found = this.#versions.findLast(({ gone, sent }) => sent <= until && gone !== shown);
    return found ?? (shown ? undefined : { age: 0, lostBy: Number.POSITIVE_INFINITY });
  }

  /** The age of the oldest that is there, or absent, and is no older than the floor. */
  oldest(shown: boolean, floor: number): number {
    return this.#versions.find(({ age, gone }) => age >= floor && gone !== shown)?.age ?? floor;
  }
}

/**
 * "Within seconds" of docs/reliability.md#outages: a standby takes over, a store is repaired, a process starts. The only
 * longer time there is the minute without both Kafka and Redis, which ends as soon as Kafka is back.
 */
const settleMs = 15_000;

/** When faults were under way, or had ended less than the documented time ago. */
export class FaultSpans {
  readonly #spans: readonly { from: number; to: number }[];
  readonly #readableMs: number;

  /** `readableMs`: so soon a change is readable without a fault. */
  constructor(faults: readonly Line<'fault'>[], readableMs: number) {
    const spans = faults.map(({ begin, at }) => ({ from: begin, to: at + settleMs }));
    this.#spans = spans.sort((a, b) => a.from - b.from);
    this.#readableMs = readableMs;
  }

  touch(fromMs: number, toMs: number): boolean {
    return this.#spans.some(({ from, to }) => from <= toMs && to >= fromMs);
  }

  /** When what happened at this time must be readable. */
  readableBy(atMs: number): number {
    let by = atMs + this.#readableMs;
    for (const { from, to } of this.#spans) if (from <= by && to >= atMs) by = Math.max(by, to);
    return by;
  }
}
