import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { answer, isLive, type ReferenceAnswer } from '../../reference/answers.ts';
import { dayText } from '../../reference/dates.ts';
import { type Facts, latestRecords } from '../../reference/facts.ts';
import { maxAge } from '../../reference/max-age.ts';
import type { CalendarRequest } from '../../reference/requests.ts';
import { answering, projecting } from '../../support/processes/service.ts';
import { toLogRecord, worldArb } from '../../support/worlds/histories.ts';
import { clockArb, everyRequest, requestArb } from '../../support/worlds/request-arbs.ts';
import { keyTexts } from '../../support/worlds/universe.ts';

/**
 * Some worlds' views, made once: their answers are asked for as often as somebody breaks the calendar. The properties in
 * test/properties ask many more worlds.
 */

const cacheSeconds = 90_000;

interface Question {
  clockMs: number;
  request: CalendarRequest;
  wanted: ReferenceAnswer;
  maxAge: number | null;
}

const worlds: { store: MemoryViewStore; liveKey: string; questions: Question[] }[] = [];

const filtered = (today: number): CalendarRequest[] =>
  [
    ...['under_5', '5_to_10', '10_to_20,over_40'].map((far) => ({ far })),
    ...['General', 'Family Friendly,21+ Only'].map((who) => ({ who })),
    ...['alameda', 'old-town,alameda-2', 'beaverton'].map((where) => ({ where })),
    ...[{ q: 'bike' }, { q: 'roll' }, { q: 'nothing like it' }],
  ].map((filter) => ({ operation: 'getDay', metro: 'portland', day: dayText(today), ...filter }));

const liveKeyOf = (facts: Facts): string | undefined => keyTexts.find((text) => isLive(facts, text));
const worldsArb = worldArb()
  .map((history) => ({ history, facts: latestRecords(history.records) }))
  .filter(({ facts }) => liveKeyOf(facts) !== undefined)
  .chain(({ history, facts }) =>
    fc.record({
      history: fc.constant(history),
      facts: fc.constant(facts),
      clocks: fc.array(clockArb(history), { minLength: 2, maxLength: 2 }),
      requests: fc.array(requestArb(history), { minLength: 60, maxLength: 60 }),
    }),
  );

beforeAll(async () => {
  for (const { history, facts, clocks, requests } of fc.sample(worldsArb, { seed: 7, numRuns: 4 })) {
    const store = new MemoryViewStore();
    const projector = await projecting(store.writer());
    for (const record of history.records) {
      const { topic, partition, offset } = record;
      await projector.take({ topic, partition, records: [toLogRecord(record)], nextOffset: offset + 1 });
    }
    await projector.settle();
    await projector.complete();
    const every = everyRequest(history);
    // Before, and long after.
    const questions = [...clocks, (history.today + 3) * 86_400_000].flatMap((clockMs) =>
      [...requests, ...filtered(history.today), ...every.filter((_, i) => i % 7 === 0)].map((request) => {
        const wanted = answer(facts, clockMs, request);
        const isPublic = !('rider' in request) && wanted.status === 200;
        return { clockMs, request, wanted, maxAge: isPublic ? maxAge(facts, clockMs, request, cacheSeconds) : null };
      }),
    );
    worlds.push({ store, liveKey: liveKeyOf(facts)!, questions });
  }
});

it.each([0, 1, 2, 3])('every answer of world %i is what the facts say', async (world) => {
  const { store, liveKey, questions } = worlds[world]!;
  let nowMs = 0;
  const api = answering(store.reader(), () => nowMs, cacheSeconds);
  for (const { clockMs, request, wanted, maxAge } of questions) {
    nowMs = clockMs;
    const { status, body, headers } = await api.ask(request, liveKey);
    const got = status === 200 ? { body } : body === '' ? {} : JSON.parse(body);
    expect({ request, status, ...got }).toMatchObject({ request, ...wanted });
    if (maxAge !== null) expect(headers['Cache-Control']).toBe(`private, max-age=${maxAge}`);
  }
});
