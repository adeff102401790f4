import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sourcesOf } from '../../../../infra/archive/log/partition-cursor.ts';
import { dayText } from '../../../../schemas/views/days.ts';
import { writeExport } from '../../../../services/past/export/write-export.ts';
import { foldPast } from '../../../../services/past/log/past-fold.ts';
import { latestRecords } from '../../../reference/facts.ts';
import { ExportInDuckDb } from '../../../support/servers/duckdb.ts';
import { instantArb, pastArchive, pastLog, scenarioArb, timeOfHistory } from '../../../support/worlds/past-archive.ts';
import { secretMark } from '../../../support/worlds/universe.ts';

const scenarios = scenarioArb((history, by) => ({
  instants: fc.array(instantArb(history, by), { minLength: 1, maxLength: 4 }),
}));

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

it(
  'an export has in force at any instant the last good records of its keys and who goes; no secret place, and when nights start',
  {
    timeout: 600_000,
  },
  () =>
    fc.assert(
      fc.asyncProperty(scenarios, async ({ history, by, chunking, instants }) => {
        await using archive = await pastArchive(history, chunking);
        const { listing, bounds } = await pastLog(archive);
        const sources = sourcesOf({ listing, bounds }, by);
        const dir = join(archive.dir, 'tables');
        const clockMs = history.today * 86_400_000;
        const how = { atMs: Number.POSITIVE_INFINITY, clockMs, personal: true, secrets: false, signal };
        await writeExport(dir, sources, how, () => '{}');
        using tables = await ExportInDuckDb.open(dir);
        for (const atMs of instants) {
          const facts = latestRecords(history.records.filter((record) => timeOfHistory(record, by) <= atMs));
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
        const zones = (await foldPast(sources, { atMs: Number.POSITIVE_INFINITY, signal })).facts;
        const nights = await tables.rows(
          "SELECT ride, day, epoch_ms(DATE '1970-01-01' + meet_time)::BIGINT AS ms, epoch_ms(starts_at) AS starts FROM nights WHERE meet_time IS NOT NULL AND year(day) BETWEEN 1600 AND 9998",
        );
        for (const { ride, day, ms, starts } of nights) {
          const number = zones.rideIds.find(ride as string);
          const metro = number < 0 ? null : zones.metros[zones.rides[number]!.metro];
          const wanted = metro
            ? instantByRecipe(metro.time_zone, String(day), Number(ms) - (Number(ms) % 60_000))
            : null;
          expect(starts === null ? null : Number(starts)).toBe(wanted);
        }
      }),
      { numRuns, endOnFailure: true },
    ),
);

/** As docs/night-times-example.js has it. */
function instantByRecipe(timeZone: string, day: string, msOfDay: number): number {
  const format = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
  const wall = (ms: number) => Date.parse(`${new Intl.DateTimeFormat('sv', format).format(ms).replace(' ', 'T')}Z`);
  const wanted = Date.parse(`${day}T00:00:00Z`) + msOfDay;
  const [before, after] = [wanted - 864e5, wanted + 864e5].map((ms) => wanted - (wall(ms) - ms)) as [number, number];
  return wall(before) !== wanted && wall(after) === wanted ? after : before;
}
