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
    if (rise.height > (this.last?.height ?? 0)) this.#rises.push(rise);
  }

  get last(): Rise | undefined {
    return this.#rises.at(-1);
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

/** A version of a probe that was published as a good record. */
export interface Version {
  n: number;
  gone: boolean;
  sent: number;
  at: number;
  line: number;
  /** Whether the log must have it: it was acknowledged, and not lost. */
  isSure: boolean;
  /** From when on nobody may be shown it, because the log lost it. */
  lostBy: number;
  /** Later versions are higher. One that was lost counts as the one before it. */
  age: number;
}

/** What an answer tells of a probe: its version, or whether it is there. */
export type Shown = number | boolean;

/** The versions of one probe. Before its first one, it is absent. */
export class ProbeVersions {
  readonly versions: readonly Version[];
  readonly #numbered: ReadonlyMap<number, Version>;
  /** By when which version must be readable. */
  readonly due = new Rises();

  constructor(published: readonly Version[], spans: FaultSpans) {
    const versions = published.toSorted((a, b) => a.n - b.n);
    let age = 0;
    for (const version of versions) {
      if (version.lostBy === Number.POSITIVE_INFINITY) age = version.n;
      version.age = age;
    }
    this.versions = versions;
    this.#numbered = new Map(versions.filter(({ gone }) => !gone).map((version) => [version.n, version]));
    const sure = versions.filter(({ isSure }) => isSure);
    const rises = sure.map(({ at, age, line }) => ({ at: spans.readableBy(at), height: age, line }));
    for (const rise of rises.toSorted((a, b) => a.at - b.at)) this.due.add(rise);
  }

  /** The newest that an answer of this time can have shown so; null: there was none. Of age 0: absent from the first. */
  newest(shown: Shown, until: number): Pick<Version, 'age' | 'lostBy'> | null {
    if (typeof shown === 'number') {
      const version = this.#numbered.get(shown);
      return version && version.sent <= until ? version : null;
    }
    const found = this.versions.findLast(({ gone, sent }) => sent <= until && gone !== shown);
    return found ?? (shown ? null : { age: 0, lostBy: Number.POSITIVE_INFINITY });
  }

  /** The age of the oldest that is there, or absent, and is no older than the floor. */
  oldest(shown: boolean, floor: number): number {
    return this.versions.find(({ age, gone }) => age >= floor && gone !== shown)?.age ?? floor;
  }
}

/** The versions of all probes that a history published. */
export function probeVersions(
  publishes: readonly Line<'publish'>[],
  losses: readonly Line<'lost'>[],
  spans: FaultSpans,
): Map<string, ProbeVersions> {
  const lostAt = ({ topic, partition, offset, at }: Line<'publish'>): number | undefined =>
    losses.find(
      (loss) =>
        loss.topic === topic && loss.partition === partition && offset !== null && offset >= loss.from && at <= loss.at,
    )?.at;
  const versions = publishes.flatMap((each) => {
    if (each.as !== 'good' || !each.version) return [];
    const lost = lostAt(each);
    const version: Version = {
      ...{ n: each.version.n, gone: each.version.gone, sent: each.sent, at: each.at, line: each.line, age: 0 },
      isSure: each.offset !== null && lost === undefined,
      lostBy: lost === undefined ? Number.POSITIVE_INFINITY : spans.readableBy(lost),
    };
    return [{ probe: each.version.probe, version }];
  });
  const byProbe = Map.groupBy(versions, ({ probe }) => probe);
  return new Map(
    [...byProbe].map(([probe, all]) => {
      const published = all.map(({ version }) => version);
      return [probe, new ProbeVersions(published, spans)];
    }),
  );
}

/**
 * "Within seconds" of docs/reliability.md#outages: a standby takes over, a store is repaired, a process starts. The only
 * longer time there is the minute without both Kafka and Redis, which ends as soon as Kafka is back.
 */
const settleMs = 15_000;

/** When faults were under way, or had ended less than the documented time ago. */
export class FaultSpans {
  readonly #spans: { from: number; to: number }[] = [];
  readonly #readableMs: number;

  /** `readableMs`: so soon a change is readable without a fault. */
  constructor(faults: readonly Line<'fault'>[], readableMs: number) {
    this.#readableMs = readableMs;
    const ends = new Map(faults.filter(({ state }) => state === 'end').map(({ id, at }) => [id, at]));
    const begins = faults.filter(({ state }) => state === 'begin').toSorted((a, b) => a.at - b.at);
    for (const { id, at } of begins) {
      const to = (ends.get(id) ?? Number.POSITIVE_INFINITY) + settleMs;
      const last = this.#spans.at(-1);
      if (last && at <= last.to) last.to = Math.max(last.to, to);
      else this.#spans.push({ from: at, to });
    }
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
