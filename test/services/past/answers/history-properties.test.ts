import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ArchiveSources, type RecordClock, sourcesOf } from '../../../../infra/archive/log/partition-cursor.ts';
import { answerHistories, type Version } from '../../../../services/past/answers/answer-history.ts';
import { changedAnswers } from '../../../../services/past/answers/changed-answers.ts';
import { type PastAnswer, PastAnswers, type PastRequest } from '../../../../services/past/answers/past-answers.ts';
import { foldPast } from '../../../../services/past/log/past-fold.ts';
import { placeText } from '../../../../services/past/log/record-places.ts';
import type { PastLog } from '../../../../services/past/past-log.ts';
import { pathOf } from '../../../reference/requests.ts';
import type { HistoryRecord } from '../../../support/worlds/histories.ts';
import { instantArb, pastArchive, pastLog, scenarioArb } from '../../../support/worlds/past-archive.ts';
import { requestArb } from '../../../support/worlds/request-arbs.ts';

const { signal } = new AbortController();

const scenarios = scenarioArb((history, by) => ({
  requests: fc.array(requestArb(history), { minLength: 1, maxLength: 4 }),
  instants: fc.uniqueArray(
    fc.oneof(
      instantArb(history, by),
      // Midnights of some zone, and the moments around them.
      fc
        .tuple(fc.integer({ min: -40, max: 130 * 24 }), fc.integer({ min: -1, max: 1 }))
        .map(([hours, off]) => (history.today * 24 + hours) * 3_600_000 + off),
    ),
    { minLength: 2, maxLength: 6 },
  ),
}));

const answersAt = async (from: ArchiveSources, atMs: number) =>
  new PastAnswers((await foldPast(from, { atMs, signal })).facts);

const sources = ({ listing, bounds }: PastLog, by: RecordClock) => sourcesOf({ listing, bounds }, by);

async function versionsOf(from: ArchiveSources, requests: readonly PastRequest[], untilMs: number): Promise<Version[]> {
  const versions: Version[] = [];
  await answerHistories(from, requests, { untilMs, signal, onVersion: (version) => versions.push(version) });
  return versions;
}

const hasNights = ({ status, body }: PastAnswer): boolean => status === 200 && !body.endsWith('"nights":[]}');

/** A bad record may name a metro or ride that no path can hold, such as `a/b`. */
const isName = (text: string): boolean => /^[\w-]+$/.test(text);

/** Every day and ride that a record has named. */
function publicTargets(records: readonly HistoryRecord[]): string[] {
  const metros = records.flatMap(({ value }) => (value && 'metro' in value ? [value.metro] : [])).filter(isName);
  const keys = records
    .filter(({ topic }) => ['rides', 'nights', 'attendance'].includes(topic))
    .map(({ key }) => key.split('/'));
  const rides = keys.map(([ride]) => ride!);
  const days = keys.map(([, day = '']) => day).filter((day) => /^\d{4}-\d\d-\d\d$/.test(day));
  const ofDays = new Set(metros.flatMap((metro) => days.map((day) => `/metros/${metro}/days/${day}`)));
  return [...ofDays, ...new Set(rides.filter(isName).map((ride) => `/rides/${ride}`))];
}

const numRuns = Number(process.env.RUNS ?? 5);

it('the history of an answer agrees with the calendar as of any instant, midnights included, however many are asked', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async ({ history, by, chunking, requests, instants }) => {
      await using archive = await pastArchive(history, chunking);
      const from = sources(await pastLog(archive), by);
      const asked = requests.map((request) => ({
        target: pathOf(request),
        rider: 'rider' in request ? request.rider : null,
      }));
      const versions = await versionsOf(from, asked, Math.max(...instants));
      expect(versions.map(({ atMs }) => atMs)).toEqual(versions.map(({ atMs }) => atMs).sort((a, b) => a - b));
      const beginning = await answersAt(from, -3e14);
      for (const atMs of instants) {
        const past = await answersAt(from, atMs);
        for (const request of asked) {
          const version = versions.findLast((one) => one.request === request && one.atMs <= atMs);
          const { status, body } = version?.answer ?? (await beginning.ask(request, -3e14));
          expect(await past.ask(request, atMs)).toMatchObject({ status, body });
        }
      }
      for (const request of asked) {
        const own = versions.filter((version) => version.request === request);
        for (const [i, { atMs, answer, records }] of own.entries()) {
          expect(records.every(({ timeMs }) => timeMs === atMs)).toBe(true);
          if (i === 0) continue;
          expect(atMs).toBeGreaterThan(own[i - 1]!.atMs);
          expect(answer).not.toEqual(own[i - 1]!.answer);
        }
      }
    }),
    { numRuns: 2 * numRuns, endOnFailure: true },
  );
});

it('the changes between two instants are the answers that differ as of them, with the records of their histories', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async ({ history, by, chunking, instants }) => {
      const [fromMs, toMs] = instants.sort((a, b) => a - b) as [number, number];
      await using archive = await pastArchive(history, chunking);
      const from = sources(await pastLog(archive), by);
      const changed: { target: string; records: { place: string; timeMs: number }[] }[] = [];
      await changedAnswers(from, {
        fromMs,
        toMs,
        clocks: { from: fromMs, to: toMs },
        signal,
        textOf: (record) => JSON.stringify({ place: placeText(record), timeMs: record.timeMs }),
        async onChanged({ target, records }) {
          changed.push({ target, records: [...records].map((text) => JSON.parse(text)) });
        },
      });
      const [before, after] = [await answersAt(from, fromMs), await answersAt(from, toMs)];
      const named = new Set(changed.map(({ target }) => target));
      for (const target of publicTargets(history.records)) {
        const was = await before.ask({ target, rider: null }, fromMs);
        const is = await after.ask({ target, rider: null }, toMs);
        const differs = was.status !== is.status || was.body !== is.body;
        // Days without nights are as many as there are dates: whether they are empty or a 404 is their metro's doing alone.
        const wanted = differs && (hasNights(was) || hasNights(is) || named.has(target));
        expect([target, named.has(target)]).toEqual([target, wanted]);
      }
      for (const { target, records } of changed.slice(0, 4)) {
        expect(records.every(({ timeMs }) => timeMs > fromMs && timeMs <= toMs)).toBe(true);
        const versions = await versionsOf(from, [{ target, rider: null }], toMs);
        const behind = versions.filter(({ atMs }) => atMs > fromMs).flatMap((version) => version.records);
        expect(records.map(({ place }) => place)).toEqual(expect.arrayContaining(behind.map(placeText)));
      }
    }),
    { numRuns, endOnFailure: true },
  );
});
