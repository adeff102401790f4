import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { archiveWriter } from '../../infra/archive/archive-writer.ts';
import type { LogRecord } from '../../projector/ports/event-log.ts';
import { defaultPartitions, murmur2Partition } from '../../schemas/events/partitioner.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { simulation } from '../../services/simulate/simulation.ts';
import { archiveSink } from '../../services/simulate/sinks.ts';
import { defaultSizes } from '../../services/simulate/sizes.ts';
import { readArchive } from '../support/archive.ts';

it('an archive that is made up has every key where Kafka’s own producer would put it, with the default partitions', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-simulate-'));
  const sink = archiveSink(archiveWriter({ dir }));
  for (const record of simulation({ ...defaultSizes, riders: 100, today: 20_778 }).initial()) await sink.add(record);
  await sink.close();
  const { bounds, records } = await readArchive(dir);
  await rm(dir, { recursive: true });
  for (const topic of topicNames) expect(bounds[topic]).toHaveLength(defaultPartitions[topic]);
  const astray = (records as LogRecord[]).filter(
    ({ topic, key, partition }) => partition !== murmur2Partition(Buffer.from(key), defaultPartitions[topic]),
  );
  expect(astray).toEqual([]);
  expect(new Set(records.filter(({ topic }) => topic === 'nights').map(({ partition }) => partition)).size).toBe(4);
});
