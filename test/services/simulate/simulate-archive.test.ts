import { cpSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import { crc32Partition, defaultPartitions, murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { archiveSave } from '../../../services/archive/save-log.ts';
import { makeLogger } from '../../../services/cli/logger.ts';
import { openEventLog } from '../../../services/serve/open-event-log.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { runSimulate } from '../../../services/simulate/simulate.ts';
import { defaultSizes } from '../../../services/simulate/world/sizes.ts';
import { heard } from '../../support/processes/heard.ts';
import { ran } from '../../support/processes/ran.ts';
import { checkArchive, TestArchive } from '../../support/worlds/archive.ts';
import { readPortland as readWithAvsc } from '../../support/worlds/portland.ts';
import { rider as realRider } from '../../support/worlds/records.ts';

const options = { ...defaultSizes, riders: 60, rides: 10, days: 5, rate: 0 };
const now = { NOW: '2026-11-21T12:00:00Z' };
const made = ({ dir: archive }: TestArchive, more = {}, env = {}, signal?: AbortSignal) =>
  heard((io) => runSimulate({ ...options, archive, ...more }, loadSettings({ ...now, ...env }), io), signal);

it('simulate --archive has records of every topic, which any Avro reader takes, and a manifest that archive check finds true', async () => {
  await using archive = await TestArchive.make();
  const run = await made(archive, { count: 30, json: true });
  expect(run.code).toBe(0);
  const { records } = JSON.parse(run.out[0]!) as { records: number };
  const { exact_since, topics } = readManifest(archive.dir)!;
  const partitions = topicNames.map((topic) => topics[topic]!.partitions.length);
  expect(partitions).toEqual(topicNames.map((topic) => defaultPartitions[topic]));
  const read = await readWithAvsc(archive.dir);
  expect(new Set(read.map(({ topic }) => topic))).toEqual(new Set(topicNames));
  const times = read.map(({ timestampMs }) => timestampMs);
  expect(exact_since).toBe(new Date(Math.min(...times)).toISOString());
  const files = partitions.reduce((sum, count) => sum + count, 0);
  expect(await checkArchive(archive.dir)).toMatchObject({ code: 0, files, records, rejected: 0, exact_since });
});

it('simulate --archive makes the same records around a given day, whenever it runs', async () => {
  const around = async (NOW: string) => {
    await using archive = await TestArchive.make();
    const args = ['simulate', '--around', '2026-06-15', '--archive', archive.dir, '--riders', '20', '--count', '5'];
    expect((await ran(args, { NOW })).out[0]).toContain('around 2026-06-15');
    const { topics } = readManifest(archive.dir)!;
    return topicNames.flatMap((topic) => topics[topic]!.partitions.map(({ hash }) => hash));
  };
  expect(await around('2026-11-21T12:00:00Z')).toEqual(await around('2020-01-01T00:00:00Z'));
});

// docs/rules.md#one-partition-per-key
it('simulate --archive puts keys where KAFKA_PARTITIONER says, topic by topic, and refuses other', async () => {
  await using archive = await TestArchive.make();
  const by = (KAFKA_PARTITIONER: string) => made(archive, {}, { KAFKA_PARTITIONER });
  const words = 'KAFKA_PARTITIONER is other for rides, which does not say where their keys go';
  await expect(by('rides:other,metros:other')).rejects.toThrow(words);
  expect(await by('crc32,nights:murmur2')).toMatchObject({ code: 0 });
  for (const { topic, key, partition } of (await archive.read()).records as LogRecord[]) {
    const partitionOf = topic === 'nights' ? murmur2Partition : crc32Partition;
    expect([topic, partition]).toEqual([topic, partitionOf(Buffer.from(key), defaultPartitions[topic])]);
  }
});

it('simulate --archive that is told to end before the calendar is there leaves nothing, and says so', async () => {
  await using archive = await TestArchive.make();
  const run = await made(archive, {}, {}, AbortSignal.abort());
  expect(run).toEqual({ code: 1, out: [], err: ['Stopped before the end of the calendar: nothing was written'] });
  expect(readdirSync(archive.dir)).toEqual([]);
});

it('simulate --archive is made up still once a rider was forgotten, and no more from the moment that something is saved to it', async () => {
  await using archive = await TestArchive.make();
  const { dir } = archive;
  const run = await made(archive, { json: true });
  const { rider, developerKey } = JSON.parse(run.out[0]!) as { rider: string; developerKey: string };
  await using source = await TestArchive.make();
  cpSync(dir, source.dir, { recursive: true });
  const forgotten = await ran(['archive', 'forget', rider, dir]);
  expect(forgotten.out[0]).toContain(', the example in the manifest: ');
  expect(readManifest(dir)!.simulated).toEqual({ developer_key: developerKey, rider: null });
  const log = source.open();
  const begun: unknown[] = [];
  const onProgress = () => begun.push(readManifest(dir)!.simulated);
  await archiveSave(log, async () => {}, dir, { signal: new AbortController().signal, onProgress });
  await log.close();
  expect(new Set(begun)).toEqual(new Set([undefined]));
});

// docs/rules.md#picking-a-rider: riders that were copied there may be real.
it('simulate --archive is made up no more where it holds more than its manifest says: nobody picks a rider, and the past may not be exact', async () => {
  await using archive = await TestArchive.make();
  const { dir } = archive;
  await made(archive);
  const served = loadSettings({ ARCHIVE_DIR: dir, LOG_LEVEL: 'silent' });
  const opened = async () => {
    const { eventLog, madeUp } = await openEventLog(served, makeLogger(served), () => {});
    await eventLog.close();
    const args = ['replay', '--archive', dir, '--as-of', '2030-01-01T00:00:00Z', '--get', '/rides/x'];
    const { err } = await ran(args, { LOG_LEVEL: 'silent' });
    return [madeUp !== null, err.join().includes('May not be exact: the archive holds more')];
  };
  expect(await opened()).toEqual([true, false]);
  await archive.write([{ topic: 'riders', ...realRider('ada'), offset: 10_000 }]);
  expect(await opened()).toEqual([false, true]);
});
