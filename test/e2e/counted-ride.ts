import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Ride } from '../../schemas/events/records.ts';
import type { RunningService } from '../support/processes/process.ts';
import { portlandKeys } from '../support/worlds/portland.ts';
import type { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';

const id = 'pp15r4125';

/** A ride whose title counts up. */
export class CountedRide {
  /** The number that was published last. */
  count = 0;
  readonly #portland: PortlandInKafka;
  readonly #ride: Ride;

  constructor(portland: PortlandInKafka) {
    this.#portland = portland;
    this.#ride = portland.last('rides', id) as Ride;
  }

  /** Gives the ride its next title. */
  async publish(): Promise<number> {
    const value = { ...this.#ride, title: `Ride ${this.count + 1}` };
    await this.#portland.publish('rides', { key: id, value });
    return ++this.count;
  }
}

/** The number that an API answers with, 0 before the first; null where it has no answer. */
export async function countIn({ api }: RunningService): Promise<number | null> {
  try {
    const response = await fetch(`${api}/rides/${id}`, { headers: { 'X-Api-Key': portlandKeys.live } });
    const body = (await response.json()) as { title?: string };
    return response.ok ? Number(/^Ride (\d+)$/.exec(body.title!)?.[1] ?? 0) : null;
  } catch {
    return null;
  }
}

/** Asks an API until told to end: no answer is older than the one before, and with `always` there is one each time. */
export function watchCount(api: RunningService, { from = 0, always = false } = {}) {
  const stop = new AbortController();
  const wrong: [last: number, count: number | null][] = [];
  let [last, answers] = [from, 0];
  const done = (async () => {
    while (!stop.signal.aborted) {
      const count = await countIn(api);
      if (count === null ? always : count < last) wrong.push([last, count]);
      last = Math.max(last, count ?? 0);
      if (count !== null) answers++;
      await sleep(25);
    }
  })();
  return {
    get last() {
      return last;
    },
    async end() {
      stop.abort();
      await done;
      expect(wrong).toEqual([]);
      expect(answers).toBeGreaterThan(10);
    },
  };
}
