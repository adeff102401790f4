import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { archiveRejected, archiveRejectSink } from '../../../../infra/archive/format/archive-reject-sink.ts';
import type { Reject } from '../../../../projector/ports/event-log.ts';
import { rejectedSchema } from '../../../../schemas/avro/avro-types.ts';
import { TestArchive, writeContainer } from '../../../support/worlds/archive.ts';
import { rejectAt as reject } from '../../../support/worlds/records.ts';

async function publish(archive: TestArchive, rejects: Reject[]): Promise<void> {
  const sink = archiveRejectSink({ dir: archive.dir });
  await sink.publish(rejects);
  await sink.close();
}

const kept = (archive: TestArchive) => [...archiveRejected({ dir: archive.dir })];

// docs/rules.md#archived-rejects
describe('bad records', () => {
  test('are kept as they came', async () => {
    await using archive = await TestArchive.make();
    const bare = reject(3, { raw: { key: null, value: null, headers: {} } });
    await publish(archive, [reject(1), bare]);
    expect(kept(archive)).toEqual([reject(1), bare]);
    expect(await readdir(archive.folder('rejected'))).toEqual(['0-00000000000000000000.avro']);
  });

  test('are kept once: within a call, in later ones and after a restart', async () => {
    await using archive = await TestArchive.make();
    const sink = archiveRejectSink({ dir: archive.dir });
    await sink.publish([reject(1), reject(1)]);
    await sink.publish([reject(1), reject(2)]);
    await sink.close();
    await publish(archive, [
      reject(1),
      reject(2),
      reject(3),
      reject(2, { partition: 1 }),
      reject(2, { topic: 'rides' }),
      // Of a topic that was made anew, say.
      reject(1, { timestampMs: 99 }),
    ]);
    expect(kept(archive).map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`)).toEqual([
      'nights/2@1',
      'nights/2@2',
      'nights/2@3',
      'nights/1@2',
      'rides/2@2',
      'nights/2@1',
    ]);
    expect(await archive.files('rejected')).toHaveLength(1);
  });

  test('are there when publish resolves', async () => {
    await using archive = await TestArchive.make();
    const sink = archiveRejectSink({ dir: archive.dir });
    await sink.publish([reject(1)]);
    expect(kept(archive)).toHaveLength(1);
    await sink.close();
  });

  test('that a crash cut off are published again', async () => {
    await using archive = await TestArchive.make();
    await publish(archive, [reject(1)]);
    await publish(archive, [reject(2)]);
    const [file] = (await archive.files('rejected')) as [string];
    await truncate(file, (await readFile(file)).length - 1);
    await publish(archive, [reject(1), reject(2)]);
    expect(kept(archive).map(({ offset }) => offset)).toEqual([1, 2]);
    await truncate(file, 10);
    await publish(archive, [reject(1)]);
    expect(kept(archive).map(({ offset }) => offset)).toEqual([1]);
  });

  test('that another library wrote, topics named in full, are known', async () => {
    await using archive = await TestArchive.make();
    await mkdir(archive.folder('rejected'));
    const theirs = {
      topic: 'ride-calendar.nights',
      partition: 2,
      offset: 1,
      timestamp: reject(1).timestampMs,
      key: Buffer.from('k'),
      value: null,
      headers: {},
      reason: 'theirs',
    };
    const schema = { ...(rejectedSchema as object), doc: 'theirs' } as never;
    await writeContainer(join(archive.folder('rejected'), '0-00000000000000000001.avro'), schema, [theirs], 'deflate');
    await publish(archive, [reject(1), reject(2)]);
    expect(kept(archive).map(({ topic, offset, reason }) => `${topic}@${offset} ${reason}`)).toEqual([
      'nights@1 theirs',
      'nights@2 unknown schema id',
    ]);
    expect(await archive.files('rejected')).toHaveLength(2);
  });

  test('in a file that is none of them are refused with its name', async () => {
    await using archive = await TestArchive.make();
    await mkdir(archive.folder('rejected'));
    const path = join(archive.folder('rejected'), '0-00000000000000000000.avro');
    await writeFile(path, 'no container');
    await expect(publish(archive, [reject(1)])).rejects.toThrow(`Cannot read the bad records in ${path}`);
  });
});
