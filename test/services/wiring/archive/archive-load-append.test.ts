import { describe, expect, test } from 'vitest';
import { archiveOf, keysOf, load, publishedRider, startMs } from '../../../support/archive-load.ts';
import { KeptLog } from '../../../support/kept-log.ts';

describe('archive load --append', () => {
  test('adds to what others have published, which is refused without it', async () => {
    await using archive = await archiveOf([['a', 5]]);
    const log = new KeptLog(1);
    await log.publish('riders', [publishedRider('a', startMs), publishedRider('b', startMs + 99)]);
    await expect(load(archive.dir, log)).rejects.toThrow('or add to what is there with --append');
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 1, before: 0 });
    expect(keysOf(log.all('riders'))).toEqual(['a', 'b', 'a']);
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, before: 1 });
  });

  test.each([false, true])(
    'loads nothing again where others have published since it was finished (compacted: %s)',
    async (compacted) => {
      await using archive = await archiveOf(Array.from({ length: 20 }, (_, i) => [`k${i % 12}`, i]));
      const log = new KeptLog(2);
      await log.publish('riders', [publishedRider('before')]);
      await load(archive.dir, log, { append: true });
      const tombstones = ['n1', 'n2', 'n3', 'n4', 'k3'].map((key) => ({
        ...publishedRider(key, startMs + 99),
        value: null,
      }));
      await log.publish('riders', tombstones);
      if (compacted) log.compact(() => false);
      const held = log.all('riders').length;
      expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, before: 20 });
      expect(log.all('riders')).toHaveLength(held);
    },
  );

  test('loads nothing again where what others have published since is compacted', async () => {
    await using archive = await archiveOf([['a', 1]]);
    const log = new KeptLog(1);
    await load(archive.dir, log, { append: true });
    await log.publish('riders', [publishedRider('n', startMs + 98), publishedRider('n', startMs + 99)]);
    log.compact(() => false);
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, before: 1 });
    expect(keysOf(log.all('riders'))).toEqual(['a', 'n']);
  });

  test('loads nothing again where compaction has removed the tombstone that it ended with', async () => {
    await using archive = await archiveOf([['a', 1]]);
    await archive.append('riders', 0, [{ key: 'b', value: null, timestampMs: startMs + 2 } as never]);
    const log = new KeptLog(1);
    await load(archive.dir, log, { append: true });
    log.partition('riders', 0)[1] = null;
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, before: 2 });
  });

  test('refuses to go on where others have published since it was stopped', async () => {
    await using archive = await archiveOf(Array.from({ length: 20 }, (_, i) => [`k${i}`, i]));
    const log = new KeptLog(1, 7);
    await log.publish('riders', [publishedRider('before')]);
    log.dieAfter(9);
    await expect(load(archive.dir, log, { append: true })).rejects.toThrow('killed');
    log.dieAfter(Number.POSITIVE_INFINITY);
    await log.publish('riders', [publishedRider('z', startMs + 99)]);
    const held = log.all('riders').length;
    await expect(load(archive.dir, log, { append: true })).rejects.toThrow(
      /^Cannot load the archive: riders\/0 holds the first \d+ of the 20 records of this load, and then others: another/,
    );
    expect(log.all('riders')).toHaveLength(held);
  });

  test('refuses to put a key’s older record behind a newer one', async () => {
    await using archive = await archiveOf([
      ['a', 5],
      ['b', 5],
    ]);
    const log = new KeptLog(1);
    await log.publish('riders', [publishedRider('a', startMs + 6)]);
    await expect(load(archive.dir, log, { append: true })).rejects.toThrow(
      'Cannot load the archive: riders/0 holds newer records than the archive of 1 of its keys',
    );
    expect(log.all('riders')).toHaveLength(1);
  });

  test('does not take a record for its own because its beginning may have been compacted', async () => {
    await using archive = await archiveOf([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
    const log = new KeptLog(1);
    // Two others that are gone by now, and one record that is the archive's third as well.
    await log.publish('riders', [publishedRider('c', 0), publishedRider('c', 1), publishedRider('c', startMs + 3)]);
    log.compact(() => false);
    await load(archive.dir, log, { append: true });
    expect(keysOf(log.all('riders'))).toEqual(['c', 'a', 'b', 'c']);
  });
});
