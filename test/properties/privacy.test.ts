import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { processMetrics } from '../../services/serve/metrics/process-metrics.ts';
import { projectorMetrics } from '../../services/serve/metrics/projector-metrics.ts';
import { liveKey } from '../reference/example-log.ts';
import { type Facts, latestRecords } from '../reference/facts.ts';
import type { CalendarRequest } from '../reference/requests.ts';
import { keptLog, silentLog } from '../support/processes/heard.ts';
import { answering, type Got, projecting } from '../support/processes/service.ts';
import { dumpViews } from '../support/stores/view-dump.ts';
import { type History, historyArb, toLogRecord, worldArb } from '../support/worlds/histories.ts';
import { clockArb, everyRequest } from '../support/worlds/request-arbs.ts';
import * as universe from '../support/worlds/universe.ts';
import * as changes from './privacy-changes.ts';

// More where somebody asks for them: RUNS=1000 npx vitest run test/properties/privacy
const numRuns = Number(process.env.RUNS ?? 20);

/** All that anybody can see of a history: what is stored, what is answered, what is logged and measured. */
interface Seen {
  facts: Facts;
  stored: Map<string, string>;
  answers: { request: CalendarRequest; got: Got }[];
  log: string[];
  metrics: string;
}

const key = universe.keyTexts[0]!;

/** A key that is live, so that there are public answers to compare. */
const keyRecord = (history: History): History => {
  const record = { ...liveKey(key, 'always'), partition: 0, offset: 1e6, timestampMs: 0 };
  return { ...history, records: [...history.records, record] };
};

const searches = ['q=lantern', 'q=yard', 'q=bike', 'where=alameda', 'where=old-town', 'far=under_5', 'who=General'];

// One for all histories, since each takes as long as a history.
const register = processMetrics(silentLog, '');
const metrics = projectorMetrics(register);

async function see(history: History, clockMs: number): Promise<Seen> {
  const store = new MemoryViewStore();
  const { lines, log } = keptLog();
  const sink = { publish: async () => 0, holdsAll: async () => true, close: async () => {} };
  const projector = await projecting(store.writer(), {}, { log, metrics: metrics.projector, sink });
  await projector.complete();
  for (const record of keyRecord(history).records) {
    const { topic, partition, offset } = record;
    await projector.take({ topic, partition, records: [toLogRecord(record)], nextOffset: offset + 1 });
  }
  await projector.settle();
  const api = answering(store.reader(), () => clockMs, 3_600);
  const answers: Seen['answers'] = [];
  for (const request of everyRequest(history)) answers.push({ request, got: await api.ask(request, key) });
  for (const search of searches) {
    const request = { operation: 'getDay', metro: 'portland', day: search } as const;
    const day = new Date(history.today * 86_400_000).toISOString().slice(0, 10);
    answers.push({ request, got: await api.get(`/metros/portland/days/${day}?${search}`, { 'x-api-key': key }) });
  }
  return {
    facts: latestRecords(history.records),
    stored: await dumpViews(store),
    answers,
    log: lines,
    metrics: await register.metrics(),
  };
}

/** Of rejected records a line a second is told: how many there are depends on the machine. */
const isUntimed = (line: string): boolean => !line.startsWith('Rejected record at');

const isPublic = (request: CalendarRequest): boolean => !('rider' in request);
const readBy = (request: CalendarRequest): string | null => ('rider' in request ? request.rider : null);

/** The answers that pass, each with its request, to compare all at once. */
const answersOf = ({ answers }: Seen, passes: (request: CalendarRequest) => boolean) =>
  answers.filter(({ request }) => passes(request));

/** What is stored, but for some keys. */
const storedBut = ({ stored }: Seen, left: (key: string) => boolean) =>
  Object.fromEntries([...stored].filter(([name]) => !left(name)));

/** `reader:<rider>` at the end of a key, or before a hash's field. */
const isReaderOf =
  (rider: string) =>
  (name: string): boolean =>
    / ?reader:([^ ]*)/.exec(name)?.[1] === rider;
const isAnyReader = (name: string): boolean => /reader:/.test(name);
const isCard = (name: string): boolean => /[|:]rider:/.test(name);

const readers = fc.constantFrom(...universe.riders);
const bits = fc.array(fc.boolean(), { minLength: 7, maxLength: 31 });
const scene = <T>(more: fc.Arbitrary<T>) =>
  fc
    .oneof({ weight: 4, arbitrary: worldArb() }, { weight: 1, arbitrary: historyArb() })
    .chain((history) => fc.tuple(fc.constant(history), clockArb(history), more));

/** Runs a property on two histories, which must differ for somebody in some run: else it would say nothing. */
const twice = async <T>(
  more: fc.Arbitrary<T>,
  variants: (history: History, given: T) => readonly [History, History],
  holds: (one: Seen, two: Seen, given: T) => void,
  differ: (one: Seen, two: Seen, given: T) => boolean,
): Promise<void> => {
  let differed = 0;
  await fc.assert(
    fc.asyncProperty(scene(more), async ([history, clockMs, given]) => {
      const [first, second] = variants(history, given);
      const one = await see(first, clockMs);
      const two = await see(second, clockMs);
      holds(one, two, given);
      if (differ(one, two, given)) differed += 1;
    }),
    // Histories are long, and so is finding the shortest that fails.
    { numRuns, interruptAfterTimeLimit: 200_000 },
  );
  // Over a handful of histories chance decides.
  if (numRuns >= 20) expect(differed).toBeGreaterThan(0);
};
const someAnswerDiffers = (one: Seen, two: Seen): boolean =>
  JSON.stringify(one.answers) !== JSON.stringify(two.answers);

describe('two histories that differ in a secret', { timeout: 600_000 }, () => {
  // docs/rules.md#nobody-is-named
  it('a public answer, its ETag and what is stored for it depend on how many are going, never on who', async () => {
    await twice(
      fc.integer({ min: 1, max: 5 }),
      (history, shift) => [history, changes.othersGo(history, shift)],
      (one, two) => {
        expect(answersOf(two, isPublic)).toEqual(answersOf(one, isPublic));
        const left = (key: string) => isAnyReader(key) || isCard(key);
        expect(storedBut(two, left)).toEqual(storedBut(one, left));
      },
      someAnswerDiffers,
    );
  });

  // docs/rules.md#flagged
  it('a flag shows to its maker alone, in answers and in what is stored', async () => {
    await twice(
      fc.record({ maker: readers, bits }),
      (history, given) => [history, changes.flaggedByMaker(history, given.maker, given.bits)],
      (one, two, { maker }) => {
        const byOthers = (request: CalendarRequest) => readBy(request) !== maker;
        expect(answersOf(two, byOthers)).toEqual(answersOf(one, byOthers));
        expect(storedBut(two, isReaderOf(maker))).toEqual(storedBut(one, isReaderOf(maker)));
      },
      someAnswerDiffers,
    );
  });

  // docs/rules.md#erased-riders
  it('an erased rider is in no view, count or name: as if they had never been', async () => {
    await twice(
      fc.constant(null),
      (history) => [changes.erased(changes.withMarks(history)), changes.neverThere(history)],
      (one, two) => {
        expect(Object.fromEntries(two.stored)).toEqual(Object.fromEntries(one.stored));
        expect(two.answers).toEqual(one.answers);
        const everything = JSON.stringify([[...one.stored], one.answers.map(({ got }) => got), one.log, one.metrics]);
        for (const mark of Object.values(changes.marked)) expect(everything).not.toContain(mark);
      },
      ({ facts }) =>
        facts.attendance.values().some(({ rider, response }) => rider === changes.marked.id && response !== 'NONE'),
    );
  });

  it("a rider's answers depend on no other rider's flags, saves, friends and blocks of third parties", async () => {
    await twice(
      fc.record({ reader: readers, bits }),
      (history, given) => [history, changes.othersChange(history, given.reader, given.bits)],
      (one, two, { reader }) => {
        const byReader = (request: CalendarRequest) => readBy(request) === reader || isPublic(request);
        expect(answersOf(two, byReader)).toEqual(answersOf(one, byReader));
        const others = (key: string) => isAnyReader(key) && !isReaderOf(reader)(key);
        expect(storedBut(two, others)).toEqual(storedBut(one, others));
      },
      someAnswerDiffers,
    );
  });

  // docs/rules.md#secret-meeting
  it('nothing of a secret meeting point is anywhere: with another place not a byte is another', async () => {
    await twice(
      fc.constantFrom('Elsewhere Yard', 'bike', '', null, 'Colonel Summers Park'),
      (history, place) => [history, changes.secretPlacesElsewhere(history, place)],
      (one, two) => {
        expect(Object.fromEntries(two.stored)).toEqual(Object.fromEntries(one.stored));
        expect(two.answers).toEqual(one.answers);
        expect(two.log.filter(isUntimed)).toEqual(one.log.filter(isUntimed));
        for (const seen of [one, two]) {
          const everything = JSON.stringify([[...seen.stored], seen.answers, seen.log, seen.metrics]).toLowerCase();
          for (const words of [universe.secretMark.toLowerCase(), 'elsewhere yard'])
            expect(everything).not.toContain(words);
        }
      },
      ({ facts }) => [...facts.nights.values()].some(({ meeting }) => meeting?.secret && meeting.place_name !== null),
    );
  });
});
