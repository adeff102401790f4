import fc from 'fast-check';
import { clocks, type RecordClock } from '../../../infra/archive/log/partition-cursor.ts';
import { openPastLog, type PastLog } from '../../../services/past/past-log.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { quietIo } from '../processes/heard.ts';
import { TestArchive } from './archive.ts';
import { type History, type HistoryRecord, historyArb } from './histories.ts';
import { requestArb } from './request-arbs.ts';

/** How an archive is cut into files and blocks. */
export const chunkingArb = fc.record({
  blockBytes: fc.constantFrom(50, 2_000, 100_000),
  fileBytes: fc.constantFrom(100, 5_000, 1_000_000),
});

/** A history as an archive. */
export async function pastArchive(
  { partitions, records }: History,
  chunking: Scenario['chunking'],
): Promise<TestArchive> {
  const archive = await TestArchive.make();
  await archive.write(records, chunking, partitions);
  return archive;
}

/** An archive's log, as the commands for the past open it. */
export const pastLog = ({ dir }: TestArchive): Promise<PastLog> => openPastLog('test', dir, loadSettings({}), quietIo);

/** Histories of which some records have a time before the one in front of them, and many share one. */
const pastArb: fc.Arbitrary<History> = historyArb().chain((history) =>
  fc.array(fc.integer({ min: -30, max: 5 }), { minLength: 1, maxLength: 13 }).chain((jitter) =>
    fc.constantFrom(1000, 5000, 3_600_000 * 7).map((stepMs) => ({
      ...history,
      records: history.records.map((record, i) => ({
        ...record,
        timestampMs: history.today * 86_400_000 + (i + jitter[i % jitter.length]!) * stepMs,
      })),
    })),
  ),
);

export const timeOfHistory = ({ value, timestampMs }: HistoryRecord, by: RecordClock): number =>
  by === 'timestamp' || value === null ? timestampMs : Number(value.changed_at);

/** An instant of a history: that of a record, a midnight of some zone, or a moment before or after one. */
const instantArb = ({ records, today }: History, by: RecordClock): fc.Arbitrary<number> => {
  const midnight = fc.integer({ min: -40, max: 130 * 24 }).map((hours) => (today * 24 + hours) * 3_600_000);
  const times = records.map((record) => timeOfHistory(record, by)).filter((ms) => Math.abs(ms) < 2.5e14);
  const instant = times.length > 0 ? fc.oneof(fc.constantFrom(...times), midnight) : midnight;
  return fc.tuple(instant, fc.integer({ min: -1, max: 1 })).map(([ms, off]) => ms + off);
};

export type Scenario = typeof scenarioArb extends fc.Arbitrary<infer T> ? T : never;

/** A history, the clock that it is read by, how its archive is cut, and what a test asks of both. */
export const scenarioArb = fc.tuple(pastArb, fc.constantFrom(...clocks)).chain(([history, by]) =>
  fc.record({
    history: fc.constant(history),
    by: fc.constant(by),
    chunking: chunkingArb,
    instants: fc.uniqueArray(instantArb(history, by), { minLength: 2, maxLength: 6 }),
    requests: fc.array(requestArb(history), { minLength: 4, maxLength: 10, size: 'max' }),
  }),
);
