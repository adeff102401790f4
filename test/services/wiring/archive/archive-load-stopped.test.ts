import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { portlandDir } from '../../../support/archive.ts';
import { archiveOf, load, publishedRider, startMs } from '../../../support/archive-load.ts';
import { KeptLog } from '../../../support/kept-log.ts';

describe('an archive load that was stopped', () => {
  test('goes on without a duplicate and without loss, wherever it was killed and whatever was compacted since', async () => {
    await using archive = await archiveOf(
      Array.from({ length: 60 }, (_, i): [string, number] => [`k${i % 7}`, i * 3]),
      Array.from({ length: 60 }, (_, i): [string, number] => [`k${(i * 5) % 11}`, i * 2]),
    );
    const whole = new KeptLog(3, 7);
    await load(archive.dir, whole);
    const kills = fc.array(fc.nat(50), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(kills, fc.boolean(), async (records, append) => {
        const log = new KeptLog(3, 7);
        for (const count of records) {
          log.dieAfter(count);
          await load(archive.dir, log, { append }).catch((error) => expect(error.message).toBe('killed'));
          log.compact((fromEnd) => fromEnd % 2 === 0);
        }
        log.dieAfter(Number.POSITIVE_INFINITY);
        const { before, records: rest } = await load(archive.dir, log, { append });
        expect(before + rest).toBe(120);
        for (const partition of [0, 1, 2]) {
          const [there, wanted] = [log, whole].map((one) => one.partition('riders', partition));
          expect(there!.length).toBe(wanted!.length);
          expect(there!.map((one, i) => one ?? wanted![i])).toEqual(wanted);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('has nothing left to do where all of it is there', async () => {
    const log = new KeptLog(4);
    const { records } = await load(portlandDir, log);
    expect(await load(portlandDir, log)).toMatchObject({ records: 0, before: records });
  });

  const archived: [string, number][] = Array.from({ length: 20 }, (_, i) => [`k${i}`, i]);

  test.each<[string, (log: KeptLog) => Promise<unknown>]>([
    [
      'another producer has published behind it',
      (log) => log.publish('riders', [{ ...publishedRider('z'), partition: 0 }]),
    ],
    [
      'another producer has published the same key later',
      (log) => log.publish('riders', [publishedRider('k0', startMs + 99)]),
    ],
    [
      'another producer has published to a topic that was not begun',
      (log) => log.publish('nights', [{ key: 'x/2026-01-01', value: null, timestampMs: 1, partition: 0 }]),
    ],
  ])('is refused where %s', async (_, meanwhile) => {
    await using archive = await archiveOf(archived);
    const log = new KeptLog(2);
    log.dieAfter(9);
    await expect(load(archive.dir, log)).rejects.toThrow('killed');
    log.dieAfter(Number.POSITIVE_INFINITY);
    await meanwhile(log);
    const before = log.all('riders').length;
    await expect(load(archive.dir, log)).rejects.toThrow(
      /^Cannot load the archive: (riders|nights)\/\d holds records that are not its beginning: another producer has published there/,
    );
    expect(log.all('riders').length).toBe(before);
  });

  test('is refused for another archive, and with --keep-partitions where it was begun without', async () => {
    await using archive = await archiveOf(archived, [['y', 3]]);
    await using other = await archiveOf(archived.slice(1), [['y', 3]]);
    const log = new KeptLog(2);
    log.dieAfter(9);
    await expect(load(archive.dir, log)).rejects.toThrow('killed');
    log.dieAfter(Number.POSITIVE_INFINITY);
    await expect(load(other.dir, log)).rejects.toThrow('not its beginning');
    await expect(load(archive.dir, log, { keepPartitions: true })).rejects.toThrow('not its beginning');
  });

  test('notices a producer that publishes at the same time', async () => {
    await using archive = await archiveOf(Array.from({ length: 12_000 }, (_, i) => [`k${i % 50}`, i]));
    const log = new KeptLog(1);
    const publish = log.publish.bind(log);
    let times = 0;
    log.publish = async (topic, records) => {
      if (++times === 2) await publish('riders', [publishedRider('z')]);
      return publish(topic, records);
    };
    await expect(load(archive.dir, log)).rejects.toThrow(
      'Cannot go on loading the archive: riders/0 has gone on to offset 5001, and 5000 was due: another producer',
    );
  });
});
