import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ArchiveSources, sourcesOf } from '../../../infra/archive/log/partition-cursor.ts';
import { dayText } from '../../../schemas/views/days.ts';
import { answerHistories, type Version } from '../../../services/past/answers/answer-history.ts';
import { changedAnswers } from '../../../services/past/answers/changed-answers.ts';
import { type PastAnswer, PastAnswers, type PastRequest } from '../../../services/past/answers/past-answers.ts';
import { writeExport } from '../../../services/past/export/write-export.ts';
import { foldPast } from '../../../services/past/log/past-fold.ts';
import { placeText } from '../../../services/past/log/record-places.ts';
import { answer } from '../../reference/answers.ts';
import { latestRecords } from '../../reference/facts.ts';
import { type CalendarRequest, pathOf } from '../../reference/requests.ts';
import { root } from '../../support/processes/process.ts';
import { ExportInDuckDb } from '../../support/servers/duckdb.ts';
import type { HistoryRecord } from '../../support/worlds/histories.ts';
import {
  chunkingArb,
  pastArchive,
  pastLog,
  type Scenario,
  scenarioArb,
  timeOfHistory,
} from '../../support/worlds/past-archive.ts';
import { secretMark } from '../../support/worlds/universe.ts';

const { instantOf } = await import(`${root}docs/night-times-example.js`);
const numRuns = Number(process.env.RUNS ?? 7);
const { signal } = new AbortController();

/** A scenario's history as an archive, and its records by the scenario's clock. */
async function opened({ history, by, chunking }: Scenario) {
  const archive = await pastArchive(history, chunking);
  const from = sourcesOf(await pastLog(archive), by);
  return { dir: archive.dir, from, [Symbol.asyncDispose]: () => archive.close() };
}

const recordsUntil = ({ history, by }: Scenario, atMs: number) =>
  history.records.filter((record) => timeOfHistory(record, by) <= atMs);

const asPast = (request: CalendarRequest): PastRequest => ({
  target: pathOf(request),
  rider: 'rider' in request ? request.rider : null,
});
const shown = ({ status, body = '' }: { status: number; body?: string }) =>
  status === 200 ? { status, body } : status;

const answersAt = async (from: ArchiveSources, atMs: number) =>
  new PastAnswers((await foldPast(from, { atMs, signal })).facts);

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

const keys = {
  metros: 'metro',
  districts: 'district',
  rides: 'ride',
  nights: "ride || '/' || day",
  riders: 'rider',
  attendance: "ride || '/' || day || '/' || rider",
  relations: "rider || '/' || other",
} as const;

describe('of an archive, however its records are divided into partitions, files and blocks', {
  timeout: 600_000,
}, () => {
  it('the calendar as of an instant is what the records up to it say, and no other; as the history of an answer says, midnights included', () =>
    fc.assert(
      fc.asyncProperty(scenarioArb, async (scenario) => {
        const { requests, instants } = scenario;
        await using archive = await opened(scenario);
        const { from } = archive;
        const asked = requests.map(asPast);
        const versions = await versionsOf(from, asked, Math.max(...instants));
        expect(versions.map(({ atMs }) => atMs)).toEqual(versions.map(({ atMs }) => atMs).sort((a, b) => a - b));
        const beginning = await answersAt(from, -3e14);
        for (const atMs of instants) {
          const counting = recordsUntil(scenario, atMs);
          const facts = latestRecords(counting);
          const past = await foldPast(from, { atMs, signal });
          expect(past.records + past.bad).toBe(counting.length);
          const answers = new PastAnswers(past.facts);
          for (const [i, request] of asked.entries()) {
            const got = await answers.ask(request, atMs);
            expect(shown(got)).toEqual(shown(answer(facts, atMs, requests[i]!)));
            const version = versions.findLast((one) => one.request === request && one.atMs <= atMs);
            const { status, body } = version?.answer ?? (await beginning.ask(request, -3e14));
            expect(got).toMatchObject({ status, body });
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
    ));

  it('the calendar as of an instant is again what it was, from its offsets, once the log has grown and has late records', () =>
    fc.assert(
      fc.asyncProperty(
        scenarioArb,
        chunkingArb,
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (scenario, other, share) => {
          const { history, by, instants, requests } = scenario;
          const atMs = instants[0]!;
          const asked = async (from: ArchiveSources) => {
            const { facts, offsets } = await foldPast(from, { atMs, signal });
            const answers = new PastAnswers(facts);
            const got = await Promise.all(requests.map((request) => answers.ask(asPast(request), atMs)));
            return { offsets, got: got.map(shown) };
          };
          const records = history.records.slice(0, Math.floor(history.records.length * share));
          await using earlier = await opened({ ...scenario, history: { ...history, records } });
          const before = await asked(earlier.from);
          await using archive = await pastArchive(history, other);
          const { listing, bounds } = await pastLog(archive);
          for (const [topic, partitions] of Object.entries(bounds))
            for (const [i, one] of partitions.entries())
              one.end = Math.max(one.low, before.offsets[topic as keyof typeof bounds][i]!);
          expect(await asked(sourcesOf({ listing, bounds }, by))).toEqual(before);
        },
      ),
      { numRuns: 2 * numRuns },
    ));

  it('the changes between two instants are the answers that differ as of them, with the records of their histories', () =>
    fc.assert(
      fc.asyncProperty(scenarioArb, async (scenario) => {
        const { history, instants } = scenario;
        const [fromMs, toMs] = instants.sort((a, b) => a - b) as [number, number];
        await using archive = await opened(scenario);
        const changed: { target: string; records: { place: string; timeMs: number }[] }[] = [];
        await changedAnswers(archive.from, {
          fromMs,
          toMs,
          clocks: { from: fromMs, to: toMs },
          signal,
          textOf: (record) => JSON.stringify({ place: placeText(record), timeMs: record.timeMs }),
          async onChanged({ target, records }) {
            changed.push({ target, records: [...records].map((text) => JSON.parse(text)) });
          },
        });
        const [before, after] = [await answersAt(archive.from, fromMs), await answersAt(archive.from, toMs)];
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
          const versions = await versionsOf(archive.from, [{ target, rider: null }], toMs);
          const behind = versions.filter(({ atMs }) => atMs > fromMs).flatMap((version) => version.records);
          expect(records.map(({ place }) => place)).toEqual(expect.arrayContaining(behind.map(placeText)));
        }
      }),
      { numRuns, endOnFailure: true },
    ));

  it('an export has in force at any instant the last good records of its keys and who goes; no secret place, and when nights start', () =>
    fc.assert(
      fc.asyncProperty(scenarioArb, async (scenario) => {
        const { history, instants } = scenario;
        await using archive = await opened(scenario);
        const dir = join(archive.dir, 'tables');
        const clockMs = history.today * 86_400_000;
        const how = { atMs: Number.POSITIVE_INFINITY, clockMs, personal: true, secrets: false, signal };
        await writeExport(dir, archive.from, how, () => '{}');
        using tables = await ExportInDuckDb.open(dir);
        for (const atMs of instants) {
          const facts = latestRecords(recordsUntil(scenario, atMs));
          const inForce = `epoch_ms(valid_from) <= ${atMs} AND (valid_to IS NULL OR epoch_ms(valid_to) > ${atMs})`;
          for (const [topic, key] of Object.entries(keys) as [keyof typeof keys, string][]) {
            const rows = await tables.rows(
              `SELECT ${key} AS key, revision FROM ${topic} WHERE ${inForce} AND NOT deleted`,
            );
            const got = rows.map((row) => `${row.key} ${row.revision}`).sort();
            const wanted = [...facts[topic]].map(([id, { revision }]) => `${id} ${revision}`).sort();
            expect([topic, got]).toEqual([topic, wanted]);
          }
          const going = [...facts.attendance.values()].filter(
            ({ response, rider }) => response !== 'NONE' && facts.riders.has(rider),
          );
          const counted = Map.groupBy(going, ({ ride, day }) => `${ride} ${dayText(day)}`);
          const rows = await tables.rows(`SELECT ride, day, count FROM going_counts WHERE ${inForce}`);
          expect(rows.map(({ ride, day, count }) => `${ride} ${day} ${count}`).sort()).toEqual(
            [...counted].map(([night, riders]) => `${night} ${riders.length}`).sort(),
          );
        }
        const [row] = await tables.rows(`SELECT count(*) AS n FROM nights WHERE place_name LIKE '%${secretMark}%'`);
        expect(row!.n).toBe('0');
        const zones = (await foldPast(archive.from, { atMs: Number.POSITIVE_INFINITY, signal })).facts;
        const nights = await tables.rows(
          'SELECT ride, day, left(meet_time::VARCHAR, 5) AS meet_time, epoch_ms(starts_at) AS starts FROM nights WHERE meet_time IS NOT NULL AND year(day) BETWEEN 1600 AND 9998',
        );
        for (const { ride, day, meet_time, starts } of nights) {
          const number = zones.rideIds.find(ride as string);
          const metro = number < 0 ? null : zones.metros[zones.rides[number]!.metro];
          const wanted = metro ? instantOf({ day, meet_time, time_zone: metro.time_zone }) : null;
          expect(starts === null ? null : Number(starts)).toBe(wanted);
        }
      }),
      { numRuns, endOnFailure: true },
    ));
});
