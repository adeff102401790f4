import type { Line } from './history.ts';

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
