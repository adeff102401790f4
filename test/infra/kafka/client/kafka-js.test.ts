import { createRequire } from 'node:module';
import { expect, it, vi } from 'vitest';
import { kafkaJs } from '../../../../infra/kafka/client/kafka-js.ts';
import { silentLog } from '../../../support/processes/heard.ts';
import { tarpit } from '../../../support/servers/tarpit.ts';

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js');

it("kafkajs's queue of requests is looked at neither for nothing nor in the past, which Node warns of", () => {
  const at = 1_000;
  for (const throttledUntil of [-1, 999, 1_000, 1_001, 1_002, 5_000]) {
    for (const pending of [[], ['a request']]) {
      let nowMs = at;
      // The clock ticks at each question.
      vi.spyOn(Date, 'now').mockImplementation(() => nowMs++);
      const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation((() => 1) as never);
      const queue = { throttleCheckTimeoutId: null, throttledUntil, pending };
      RequestQueue.prototype.scheduleCheckPendingRequests.call(queue);
      const delays = timers.mock.calls.map(([, ms]) => ms!);
      expect(delays.every((ms) => ms > 0)).toBe(true);
      expect(delays.length).toBe(pending.length > 0 || throttledUntil > at ? 1 : 0);
      vi.restoreAllMocks();
    }
  }
});

it.each(['frozen', 'gone'])('a client whose signal aborts stops trying a broker that is %s', async (state) => {
  const pit = await tarpit();
  if (state === 'gone') pit.close();
  const stop = new AbortController();
  const heard: string[] = [];
  const log = { ...silentLog, warn: (message: string) => heard.push(message) };
  const connecting = kafkaJs({ brokers: [pit.address], ssl: false, sasl: null }, log, stop.signal)
    .admin()
    .connect();
  connecting.catch(() => {});
  if (state === 'frozen') await pit.caught;
  else await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0), { timeout: 20_000 });
  stop.abort();
  const before = heard.length;
  // It had no end.
  await expect(connecting).rejects.toThrow();
  expect(heard.length).toBe(before);
  pit.close();
});
