import fc from 'fast-check';
import { clocks, type RecordClock } from '../../../infra/archive/log/partition-cursor.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { openPastLog, type PastLog } from '../../../services/past/past-log.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { quietIo } from '../processes/heard.ts';
import { TestArchive, writerIn } from './archive.ts';
import { type History, type HistoryRecord, historyArb } from './histories.ts';

/** How an archive is cut into files and blocks. */
export type Chunking = { blockBytes: number; fileBytes: number };

export const chunkingArb: fc.Arbitrary<Chunking> = fc.record({
  blockBytes: fc.constantFrom(50, 2_000, 100_000),
  fileBytes: fc.constantFrom(100, 5_000, 1_000_000),
});

/** A history as an archive. */
export async function pastArchive({ partitions, records }: History, chunking: Chunking): Promise<TestArchive> {
  const archive = await TestArchive.make();
  const writer = await writerIn(archive.dir, chunking);
  for (const topic of topicNames) for (let i = 0; i < partitions[topic]; i++) writer.addPartition(topic, i, 0);
  for (const { topic, ...record } of records) writer.append(topic, record);
  await writer.close();
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

/** An instant of a history: that of a record, a moment before or after one, or any. */
export const instantArb = ({ records, today }: History, by: RecordClock): fc.Arbitrary<number> =>
  fc
    .tuple(fc.nat({ max: Math.max(0, records.length - 1) }), fc.integer({ min: -1, max: 1 }))
    .map(([i, off]) => (records[i] ? timeOfHistory(records[i], by) : today * 86_400_000) + off)
    .filter((ms) => Math.abs(ms) < 2.5e14);

/** A history, the clock that it is read by, how its archive is cut, and what a test asks of both. */
export const scenarioArb = <T>(asked: (history: History, by: RecordClock) => { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  pastArb.chain((history) =>
    fc
      .constantFrom(...clocks)
      .chain((by) =>
        fc
          .record({ chunking: chunkingArb, asked: fc.record(asked(history, by)) })
          .map(({ chunking, asked }) => ({ history, by, chunking, ...asked })),
      ),
  );
