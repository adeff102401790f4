import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ViewReader } from '../../api/ports/view-reader.ts';
import type { ViewWriter } from '../../projector/ports/view-writer.ts';
import { answer, isLive } from '../reference/answers.ts';
import { type Facts, latestRecords } from '../reference/facts.ts';
import { maxAge } from '../reference/max-age.ts';
import type { CalendarRequest } from '../reference/requests.ts';
import { answering, type Got, projecting } from '../support/processes/service.ts';
import { type History, historyArb } from '../support/worlds/histories.ts';
import { compactions, deliveries } from '../support/worlds/log-orders.ts';
import { clockArb, requestArb } from '../support/worlds/request-arbs.ts';
import { keyTexts } from '../support/worlds/universe.ts';

/** A view store of its own for each history. */
export type FreshStore = () => Promise<{
  writer: ViewWriter;
  reader: ViewReader;
  /** How long after a commit readers may still get what was there before: a change message under way. */
  lateMs: number;
  close(): Promise<void>;
}>;

/**
 * A history, what a reader of a compaction of it is delivered, when rounds are written, and questions with clocks.
 * `seconds`: CACHE_SECONDS.
 */
const scenarioArb = historyArb().chain((whole) =>
  compactions(whole).chain((history: History) =>
    fc.record({
      history: fc.constant(history),
      batches: deliveries(history),
      roundEvery: fc.integer({ min: 1, max: 9 }),
      // Anybody may be fanned out to in slices, as a rider with very many readers is.
      fanOut: fc.record({ inlineMax: fc.constantFrom(0, 2, 64), slice: fc.integer({ min: 1, max: 3 }) }),
      clocks: fc.array(clockArb(history), { minLength: 1, maxLength: 3 }),
      // Rarely more than 0, since the reference takes long to find a max-age.
      seconds: fc.oneof(
        { weight: 4, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 90_000 }) },
      ),
      requests: fc.array(requestArb(history), { minLength: 5, maxLength: 25, size: 'max' }),
    }),
  ),
);

function shape({ status, body, headers }: Got): object {
  if (status === 200) return { status, body, caching: headers['Cache-Control'] };
  const { error, input } = body === '' ? {} : JSON.parse(body);
  return { status, error, input };
}

function wantedAnswer(facts: Facts, clockMs: number, request: CalendarRequest, key: string, seconds: number): object {
  if (!('rider' in request) && !isLive(facts, key)) return { status: 401, error: 'invalid_key', input: null };
  const wanted = answer(facts, clockMs, request);
  if (wanted.status === 200) {
    // docs/rules.md#max-age
    const ofPublic = seconds === 0 ? 'no-cache' : `max-age=${maxAge(facts, clockMs, request, seconds)}`;
    return { status: 200, body: wanted.body, caching: `private, ${'rider' in request ? 'no-store' : ofPublic}` };
  }
  const { error, input } = wanted as { error?: string; input?: string };
  return { status: wanted.status, error, input };
}

/** What is got at last: asks again while it is not what is wanted, and not too late. */
async function soon(ask: () => Promise<object>, wanted: object, lateMs: number): Promise<object> {
  const until = performance.now() + lateMs;
  for (;;) {
    const got = await ask();
    if (isDeepStrictEqual(got, wanted) || performance.now() > until) return got;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// What was found by then is told, though it may not be the shortest: a time-out of the test would tell nothing.
const limits = { interruptAfterTimeLimit: 400_000, markInterruptAsFailure: true };

/** Holds every answer to the reference, over views in a store; `numRuns` histories. */
export function answersProperty(name: string, freshStore: FreshStore, numRuns: number): void {
  // A busy machine may take minutes over a thousand histories.
  describe(`every answer from ${name}`, { timeout: 600_000 }, () => {
    it('is what the facts say, after any history, compaction, interleaving, batching and repeats, at any clock', async () => {
      await fc.assert(
        fc.asyncProperty(scenarioArb, async ({ history, batches, roundEvery, fanOut, clocks, seconds, requests }) => {
          const store = await freshStore();
          const projector = await projecting(store.writer, fanOut);
          let clockMs = clocks[0]!;
          const api = answering(store.reader, () => clockMs, seconds);
          const bodies = new Map<string, string>();
          const ask = async (request: CalendarRequest, key: string): Promise<Got> => {
            const got = await api.ask(request, key);
            const { ETag } = got.headers;
            const named = `${JSON.stringify(request)} ${ETag}`;
            // docs/rules.md#etag
            if (ETag !== undefined) expect(bodies.get(named) ?? got.body).toBe(got.body);
            bodies.set(named, got.body);
            return got;
          };
          await projector.complete();
          for (const [i, batch] of batches.entries()) {
            await projector.take(batch);
            // Readers ask all the while: what they made the API keep must go when it changes.
            if (i % roundEvery === 0) {
              await projector.settle();
              for (const request of requests.slice(0, 3)) await ask(request, keyTexts[0]!);
            }
          }
          await projector.settle();
          const facts = latestRecords(history.records);
          for (clockMs of clocks) {
            for (const [i, request] of requests.entries()) {
              const key = keyTexts[i % keyTexts.length]!;
              const wanted = wantedAnswer(facts, clockMs, request, key, seconds);
              const got = await soon(async () => shape(await ask(request, key)), wanted, store.lateMs);
              expect(got).toEqual(wanted);
            }
          }
          await store.close();
        }),
        { numRuns, ...limits },
      );
    });
  });
}
