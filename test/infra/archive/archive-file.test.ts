import { appendFile, open } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { OpenArchiveFile } from '../../../infra/archive/archive-file.ts';
import { TestArchive } from '../../support/archive.ts';
import { sampleRecords } from '../../support/records.ts';

const riders = Array.from({ length: 40 }, (_, i) => {
  const key = `r${i}`;
  return { key, value: { ...sampleRecords.riders, rider: key }, timestampMs: 1 };
});

test('a block is read although a writer cuts half a block off there, and writes on, between two reads', async () => {
  await using archive = await TestArchive.make();
  await archive.createTopics(1);
  const [path] = (await archive.files('riders')) as [string];
  // Two records in 400 bytes, of which a crash left a hundred.
  await appendFile(path, Buffer.concat([Buffer.from([4, 0x90, 0x03]), Buffer.alloc(100, 7)]));
  const file = (await OpenArchiveFile.open('riders', { path, partition: 0, firstOffset: 0 }))!;
  const handle = await open(path);
  const { read } = handle;
  const reads = vi.spyOn(Object.getPrototypeOf(handle), 'read').mockImplementationOnce(async function (
    this: typeof handle,
    ...args: unknown[]
  ) {
    const result = await read.apply(this, args as never);
    await archive.append('riders', 0, riders);
    return result;
  });
  try {
    expect((await file.nextRecords())?.[0]?.offset).toBe(0);
  } finally {
    reads.mockRestore();
    await Promise.all([file.close(), handle.close()]);
  }
});
