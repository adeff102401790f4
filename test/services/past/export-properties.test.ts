import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeExport } from '../../../services/past/export/write-export.ts';
import { sourcesOf } from '../../../services/past/past-records.ts';
import { clocks } from '../../../services/past/past-time.ts';
import { latestRecords } from '../../reference/facts.ts';
import { ExportInDuckDb } from '../../support/duckdb.ts';
import { chunkingArb, instantArb, PastArchive, pastArb, timeOfHistory } from '../../support/past-archive.ts';
import { secretMark } from '../../support/universe.ts';

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

const keys = {
  metros: 'metro',
  districts: 'district',
  rides: 'ride',
  nights: "ride || '/' || day",
  riders: 'rider',
  attendance: "ride || '/' || day || '/' || rider",
  relations: "rider || '/' || other",
} as const;

describe('an export', { timeout: 600_000 }, () => {
  it('has in force at any instant the last good records of its keys, and no secret place', async () => {
    await fc.assert(
      fc.asyncProperty(scenarioArb, async ({ history, by, chunking, instants }) => {
        using archive = await PastArchive.of(history, chunking);
        const { listing, bounds } = await archive.log();
        const dir = join(archive.dir, 'tables');
        const how = {
          atMs: Number.POSITIVE_INFINITY,
          clockMs: history.today * 86_400_000,
          personal: true,
          secrets: false,
        };
        const { signal } = new AbortController();
        await writeExport(dir, sourcesOf(listing, bounds, by), { ...how, signal }, () => '{}');
        using tables = await ExportInDuckDb.open(dir);
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
        rmSync(dir, { recursive: true });
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });
});
