import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ArchiveSources, clocks, sourcesOf } from '../../../../infra/archive/log/partition-cursor.ts';
import type { Facts } from '../../../../projector/facts/facts.ts';
import { valueViews } from '../../../../projector/views/value-views.ts';
import { dayText } from '../../../../schemas/views/days.ts';
import { PastAnswers } from '../../../../services/past/answers/past-answers.ts';
import { writeExport } from '../../../../services/past/export/write-export.ts';
import { foldPast } from '../../../../services/past/log/past-fold.ts';
import { latestRecords } from '../../../reference/facts.ts';
import { ExportInDuckDb } from '../../../support/servers/duckdb.ts';
import {
  chunkingArb,
  instantArb,
  pastArb,
  pastArchive,
  pastLog,
  timeOfHistory,
} from '../../../support/worlds/past-archive.ts';
import { secretMark } from '../../../support/worlds/universe.ts';

const scenarioArb = pastArb.chain((history) =>
  fc.constantFrom(...clocks).chain((by) =>
    fc.record({
      history: fc.constant(history),
      by: fc.constant(by),
      chunking: chunkingArb,
      instants: fc.array(instantArb(history, by), { minLength: 1, maxLength: 4 }),
    }),
  ),
);

const numRuns = Number(process.env.RUNS ?? 7);
const { signal } = new AbortController();

const keys = {
  metros: 'metro',
  districts: 'district',
  rides: 'ride',
  nights: "ride || '/' || day",
  riders: 'rider',
  attendance: "ride || '/' || day || '/' || rider",
  relations: "rider || '/' || other",
} as const;

type Scenario = typeof scenarioArb extends fc.Arbitrary<infer T> ? T : never;

/** Exports a history with what is personal, and checks the tables at some instants. */
const exported = (
  secrets: boolean,
  check: (tables: ExportInDuckDb, scenario: Scenario, sources: ArchiveSources) => Promise<void>,
) =>
  fc.assert(
    fc.asyncProperty(scenarioArb, async (scenario) => {
      const { history, by, chunking } = scenario;
      await using archive = await pastArchive(history, chunking);
      const { listing, bounds } = await pastLog(archive);
      const sources = sourcesOf({ listing, bounds }, by);
      const dir = join(archive.dir, 'tables');
      const clockMs = history.today * 86_400_000;
      const how = { atMs: Number.POSITIVE_INFINITY, clockMs, personal: true, secrets, signal };
      await writeExport(dir, sources, how, () => '{}');
      using tables = await ExportInDuckDb.open(dir);
      await check(tables, scenario, sources);
    }),
    { numRuns, endOnFailure: true },
  );

describe('an export', { timeout: 600_000 }, () => {
  it('has in force at any instant the last good records of its keys, and no secret place', () =>
    exported(false, async (tables, { history, by, instants }) => {
      for (const atMs of instants) {
        const facts = latestRecords(history.records.filter((record) => timeOfHistory(record, by) <= atMs));
        for (const [topic, key] of Object.entries(keys) as [keyof typeof keys, string][]) {
          const rows = await tables.rows(
            `SELECT ${key} AS key, revision FROM ${topic} WHERE epoch_ms(valid_from) <= ${atMs} AND (valid_to IS NULL OR epoch_ms(valid_to) > ${atMs}) AND NOT deleted`,
          );
          const got = rows.map((row) => `${row.key} ${row.revision}`).sort();
          const wanted = [...facts[topic]].map(([id, { revision }]) => `${id} ${revision}`).sort();
          expect([topic, got]).toEqual([topic, wanted]);
        }
      }
      const [row] = await tables.rows(`SELECT count(*) AS n FROM nights WHERE place_name LIKE '%${secretMark}%'`);
      expect(row!.n).toBe('0');
    }));

  it('counts who goes at any instant, without riders, and says when nights start', () =>
    exported(false, async (tables, { history, by, instants }, sources) => {
      for (const atMs of instants) {
        const facts = latestRecords(history.records.filter((record) => timeOfHistory(record, by) <= atMs));
        const going = [...facts.attendance.values()].filter(
          ({ response, rider }) => response !== 'NONE' && facts.riders.has(rider),
        );
        const rows = await tables.rows(
          `SELECT ride, day, count FROM going_counts WHERE epoch_ms(valid_from) <= ${atMs} AND (valid_to IS NULL OR epoch_ms(valid_to) > ${atMs})`,
        );
        const counted = Map.groupBy(going, ({ ride, day }) => `${ride} ${dayText(day)}`);
        expect(rows.map(({ ride, day, count }) => `${ride} ${day} ${count}`).sort()).toEqual(
          [...counted].map(([night, riders]) => `${night} ${riders.length}`).sort(),
        );
      }
      const zones = (await foldPast(sources, { atMs: Number.POSITIVE_INFINITY, signal })).facts;
      const nights = await tables.rows(
        "SELECT ride, day, epoch_ms(DATE '1970-01-01' + meet_time)::BIGINT AS ms, epoch_ms(starts_at) AS starts FROM nights WHERE meet_time IS NOT NULL AND year(day) BETWEEN 1600 AND 9998",
      );
      for (const { ride, day, ms, starts } of nights) {
        const number = zones.rideIds.find(ride as string);
        const metro = number < 0 ? null : zones.metros[zones.rides[number]!.metro];
        const wanted = metro ? instantByRecipe(metro.time_zone, String(day), Number(ms) - (Number(ms) % 60_000)) : null;
        expect(starts === null ? null : Number(starts)).toBe(wanted);
      }
    }));

  it('says by as_of at any instant, with --personal and --secrets, what every day answers as of it', () =>
    exported(true, async (tables, { instants }, sources) => {
      for (const atMs of instants) {
        const rows = await tables.rows(`FROM as_of(make_timestamptz(${atMs}::BIGINT * 1000))`);
        const { facts } = await foldPast(sources, { atMs, signal });
        expect(byDay(rows)).toEqual(await daysOf(facts, atMs));
      }
    }));
});

/** As docs/night-times-example.js has it. */
function instantByRecipe(timeZone: string, day: string, msOfDay: number): number {
  const format = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
  const wall = (ms: number) => Date.parse(`${new Intl.DateTimeFormat('sv', format).format(ms).replace(' ', 'T')}Z`);
  const wanted = Date.parse(`${day}T00:00:00Z`) + msOfDay;
  const [before, after] = [wanted - 864e5, wanted + 864e5].map((ms) => wanted - (wall(ms) - ms)) as [number, number];
  return wall(before) !== wanted && wall(after) === wanted ? after : before;
}

type Row = Record<string, unknown>;

/** In the order of the rows. */
function byDay(rows: readonly Row[]): Map<string, Row[]> {
  const days = new Map<string, Row[]>();
  for (const { metro, starts_at: _startsAt, ...row } of rows) {
    const day = `${metro}/${row.day}`;
    // An answer's time has no seconds.
    const time = typeof row.meet_time === 'string' ? row.meet_time.replace(/:00$/, '') : null;
    days.set(day, [...(days.get(day) ?? []), { ...row, meet_time: time, going_count: Number(row.going_count) }]);
  }
  return new Map([...days].sort());
}

async function daysOf(facts: Facts, clockMs: number): Promise<Map<string, Row[]>> {
  const answers = new PastAnswers(facts);
  const days = new Map<string, Row[]>();
  for (const view of valueViews.day.all(facts)) {
    const id = valueViews.day.id(facts, view);
    const { status, body } = await answers.ask(
      { target: `/metros/${id.replace('/', '/days/')}`, rider: null },
      clockMs,
    );
    const { nights } = JSON.parse(body) as { nights?: Row[] };
    if (status === 200 && nights!.length > 0) days.set(id, nights!.map(asRow));
  }
  return new Map([...days].sort());
}

function asRow({ past: _past, meeting, ...night }: Row): Row {
  const { neighbourhood_slug: _slug, ...where } = meeting as Row;
  return { ...night, ...where };
}
