import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { liveKey, metro, ride } from '../reference/example-log.ts';
import type { RunningService } from '../support/processes/process.ts';
import type { TestKafka } from '../support/servers/kafka.ts';

const key = `rck_${'a'.repeat(43)}`;

/** A log whose one ride has a title that counts up. Its view is on the first node of a Redis Cluster. */
export async function countedRide(kafka: TestKafka) {
  let count = 0;
  await kafka.createTopics();
  await kafka.publish(liveKey(key), metro('pdx'));
  const publish = async (): Promise<number> => {
    await kafka.publish(ride('taco', { title: `Ride ${count + 1}` }));
    return ++count;
  };
  await publish();
  return { publish, count: () => count };
}

/** The number that an API answers with; null where it has no answer, and -1 for a false one. */
export async function countIn({ api }: RunningService, id = 'taco'): Promise<number | null> {
  try {
    const response = await fetch(`${api}/rides/${id}`, { headers: { 'X-Api-Key': key } });
    const { title } = (await response.json()) as { title?: string };
    if (response.status === 503) return null;
    return response.ok ? Number(/^Ride (\d+)$/.exec(title!)![1]) : -1;
  } catch {
    return null;
  }
}

/** Asks an API until told to end: no answer is older than the one before, and with `always` there is one each time. */
export function watchCount(api: RunningService, { id = 'taco', from = 0, always = false } = {}) {
  const stop = new AbortController();
  const wrong: [last: number, count: number | null][] = [];
  let [last, answers] = [from, 0];
  const done = (async () => {
    for (; !stop.signal.aborted; await sleep(25)) {
      const count = await countIn(api, id);
      if (count === null ? always : count < last) wrong.push([last, count]);
      last = Math.max(last, count ?? 0);
      if (count !== null) answers++;
    }
  })();
  return {
    last: () => last,
    async end() {
      await expect.poll(() => answers).toBeGreaterThan(1);
      stop.abort();
      await done;
      expect(wrong).toEqual([]);
    },
  };
}
