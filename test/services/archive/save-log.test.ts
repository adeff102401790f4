import { describe, expect, test } from 'vitest';
import { archiveEventLog } from '../../../infra/archive/log/archive-event-log.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { archiveSave } from '../../../services/archive/save-log.ts';
import type { Part } from '../../../services/cli/progress.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { readArchive, TestArchive } from '../../support/worlds/archive.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';
import { rejectAt, sampleRecords } from '../../support/worlds/records.ts';

const signal = new AbortController().signal;
const noRejects = async () => {};
const plain = (records: unknown[]) =>
  (records as LogRecord[])
    .map(({ topic, partition, offset, timestampMs, key, value }) => ({
      topic,
      partition,
      offset,
      timestampMs,
      key,
      value,
    }))
    .sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition || a.offset - b.offset);

const rider = (key: string) => ({
  key,
  value: { ...sampleRecords.riders, rider: key },
  timestampMs: 1_700_000_000_000,
});
describe('archive save', () => {
  test('keeps partitions, offsets, timestamps, keys and values', async () => {
    await using archive = await TestArchive.make();
    const source = await readArchive(portlandDirectory);
    await using log = opened(portlandDirectory);
    const heard: Part[] = [];
    const result = await archiveSave(log, noRejects, archive.dir, {
      signal,
      onProgress: (progress) => void heard.push(progress),
    });
    const saved = await archive.read();
    expect(result).toEqual({ records: source.records.length, rejected: 0, exact_since: expect.any(String) });
    expect(saved.bounds).toEqual(source.bounds);
    expect(plain(saved.records)).toEqual(plain(source.records));
    expect(heard[0]).toEqual({ done: 0, total: heard[0]!.total });
    expect(heard.at(-1)).toEqual({ done: heard[0]!.total, total: heard[0]!.total });
  });

  test('sets what can not be decoded aside, and the bad records there are, each once', async () => {
    await using source = await TestArchive.make();
    await using archive = await TestArchive.make();
    await source.createTopics(1);
    await source.append('rides', 0, [{ key: 'a', value: sampleRecords.rides, timestampMs: 1 }]);
    await source.appendUndecodable('rides', 0, 'b');
    await using log = opened(source.dir);
    const known = rejectAt(1, { topic: 'rides', partition: 0, timestampMs: 5 });
    const result = await archiveSave(log, (onRejects) => onRejects([rejectAt(4), known]), archive.dir, { signal });
    expect(result).toMatchObject({ records: 1, rejected: 2 });
    const places = archive.rejected().map(({ topic, offset, reason }) => `${topic}@${offset} ${reason}`);
    expect(places).toEqual(['rides@1 unknown enum symbol', 'nights@4 unknown schema id']);
    expect((await archive.read()).records).toHaveLength(1);
    const again = await archiveSave(log, (onRejects) => onRejects([rejectAt(4), known]), archive.dir, { signal });
    expect(again).toMatchObject({ records: 0, rejected: 0 });
  });

  test('stops at the ends as they were when it began', async () => {
    await using archive = await TestArchive.make();
    const at = (offset: number) => ({ topic: 'riders', partition: 0, offset, ...rider(`r${offset}`) }) as const;
    const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;
    const log = new MemoryEventLog({ partitions, records: [at(0), at(1)] });
    let last = 1;
    const result = await archiveSave(log, noRejects, archive.dir, { signal, onProgress: () => log.append(at(++last)) });
    expect([result.records, last > 2]).toEqual([2, true]);
    expect((await archive.read()).bounds.riders).toEqual([{ low: 0, end: 2 }]);
  });
});

function opened(dir: string) {
  const log = archiveEventLog({ dir });
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() });
}
