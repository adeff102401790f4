import { createRequire } from 'node:module';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { kafkaJs } from '../../../../infra/kafka/client/kafka-js.ts';
import { describeError as innermost } from '../../../../infra/kafka/client/logged-back-off.ts';
import { tarpit } from '../../../support/servers/tarpit.ts';

const quiet = { info: () => {}, warn: () => {}, error: () => {} };
const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js');

afterEach(() => {
  vi.restoreAllMocks();
});

describe("kafkajs's queue of requests", () => {
  /** Delays of the looks that are planned while the clock ticks by a millisecond at each question. */
  function planned(queue: { throttledUntil: number; pending: unknown[] }): unknown[] {
    kafkaJs({ brokers: ['127.0.0.1:1'], ssl: false, sasl: null }, quiet, new AbortController().signal);
    let nowMs = 1_000;
    vi.spyOn(Date, 'now').mockImplementation(() => nowMs++);
    const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation((() => 1) as never);
    RequestQueue.prototype.scheduleCheckPendingRequests.call({ throttleCheckTimeoutId: null, ...queue });
    return timers.mock.calls.map(([, ms]) => ms);
  }

  it.each([-1, 999, 1_000])('is not looked at for nothing: throttled until %i at 1000', (throttledUntil) => {
    expect(planned({ throttledUntil, pending: [] })).toEqual([]);
  });

  it('is never looked at in the past, which Node warns of on the terminal', () => {
    for (const throttledUntil of [-1, 999, 1_000, 1_001, 1_002, 5_000]) {
      for (const pending of [[], ['a request']]) {
        for (const ms of planned({ throttledUntil, pending })) expect(ms).toBeGreaterThan(0);
        vi.restoreAllMocks();
      }
    }
  });
});

describe('a client whose signal aborts', () => {
  it.each(['frozen', 'gone'])('stops trying a broker that is %s', async (state) => {
    const pit = await tarpit();
    if (state === 'gone') pit.close();
    const stop = new AbortController();
    const heard: string[] = [];
    const log = { ...quiet, warn: (message: string) => heard.push(message) };
    const admin = kafkaJs({ brokers: [pit.address], ssl: false, sasl: null }, log, stop.signal).admin();
    const connecting = admin.connect();
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
});

it("an error of several has all of their messages, kafkajs's own kind too", () => {
  const several = Object.assign(new Error('Topic creation errors'), {
    errors: [new Error('too few brokers'), new Error('too few brokers'), new Error('no such setting')],
  });
  expect(innermost(several)).toBe('too few brokers; no such setting');
  expect(innermost(new Error('outer', { cause: several }))).toBe('too few brokers; no such setting');
});
