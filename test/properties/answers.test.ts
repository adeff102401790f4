import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory-view-store.ts';
import { answer, isLive } from '../reference/answers.ts';
import { latestRecords } from '../reference/facts.ts';
import { maxAge } from '../reference/max-age.ts';
import { type History, historyArb } from '../support/histories.ts';
import { compactions, deliveries } from '../support/log-orders.ts';
import { clockArb, requestArb } from '../support/request-arbs.ts';
import { answering, type Got, projecting } from '../support/service.ts';
import { keyTexts } from '../support/universe.ts';

// More where somebody asks for them: RUNS=5000 npx vitest run test/properties
const numRuns = Number(process.env.RUNS ?? 300);

/** A history, what a reader of a compaction of it is delivered, when rounds are written, and questions with clocks. */
const scenarioArb = historyArb().chain((whole) =>
  compactions(whole).chain((history: History) =>
    fc.record({
      history: fc.constant(history),
      batches: deliveries(history),
      roundEvery: fc.integer({ min: 1, max: 9 }),
      clocks: fc.array(clockArb(history), { minLength: 1, maxLength: 3 }),
      requests: fc.array(requestArb(history), { minLength: 5, maxLength: 25, size: 'max' }),
    }),
  ),
);

function shape({ status, body }: Got): object {
  if (status === 200) return { status, body };
  const { error, input } = body === '' ? {} : JSON.parse(body);
  return { status, error, input };
}

describe('every answer', () => {
  it('is what the facts say, after any history, compaction, interleaving, batching and repeats, at any clock', async () => {
    await fc.assert(
      fc.asyncProperty(scenarioArb, async ({ history, batches, roundEvery, clocks, requests }) => {
        const store = new MemoryViewStore();
        const projector = await projecting(store.writer());
        let clockMs = clocks[0]!;
        const api = answering(store.reader(), () => clockMs);
        await projector.complete();
        for (const [i, batch] of batches.entries()) {
          await projector.take(batch);
          // Readers ask all the while: what they made the API keep must go when it changes.
          if (i % roundEvery === 0) {
            await projector.settle();
            for (const request of requests.slice(0, 3)) await api.ask(request, keyTexts[0]!);
          }
        }
        await projector.settle();
        const facts = latestRecords(history.records);
        for (clockMs of clocks) {
          for (const request of requests) {
            const key = keyTexts[requests.indexOf(request) % keyTexts.length]!;
            const got = await api.ask(request, key);
            if (!('rider' in request) && !isLive(facts, key)) {
              expect(got.status).toBe(401);
              continue;
            }
            const wanted = answer(facts, clockMs, request);
            expect(shape(got)).toEqual(
              wanted.status === 200
                ? { status: 200, body: wanted.body }
                : {
                    status: wanted.status,
                    error: 'error' in wanted ? wanted.error : undefined,
                    input: 'input' in wanted ? wanted.input : undefined,
                  },
            );
          }
        }
      }),
      { numRuns },
    );
  });

  it('of the public layer may be kept until the local midnight that changes it', async () => {
    await fc.assert(
      fc.asyncProperty(
        scenarioArb,
        fc.integer({ min: 1, max: 90_000 }),
        async ({ history, batches, clocks, requests }, seconds) => {
          const store = new MemoryViewStore();
          const projector = await projecting(store.writer());
          const api = answering(store.reader(), () => clocks[0]!, seconds);
          await projector.complete();
          for (const batch of batches) await projector.take(batch);
          await projector.settle();
          const facts = latestRecords(history.records);
          for (const request of requests) {
            if ('rider' in request || !isLive(facts, keyTexts[0]!)) continue;
            const got = await api.ask(request, keyTexts[0]!);
            if (got.status !== 200) continue;
            expect(got.headers['Cache-Control']).toBe(
              `private, max-age=${maxAge(facts, clocks[0]!, request, seconds)}`,
            );
          }
        },
      ),
      { numRuns: Math.ceil(numRuns / 3) },
    );
  });
});
