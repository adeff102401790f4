import { expect, it } from 'vitest';
import { ran } from '../../support/processes/ran.ts';
import { freshTopicPrefix, kafkaBrokers } from '../../support/servers/backends.ts';
import { archiveOf } from '../../support/worlds/archive-load.ts';
import { rider } from '../../support/worlds/records.ts';

// docs/rules.md#archive-load, #archive-load-partitions, #raw-values, #timestamps
it('archive load says how many records it loaded, of how many keys the topics are as new or newer, naming twenty, and what it changed or could not order', async () => {
  const env = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix(), LOG_LEVEL: 'silent' };
  const load = async ({ dir }: { dir: string }, ...more: string[]) => {
    const { code, out } = await ran(['archive', 'load', dir, ...more], env);
    return [code, ...out];
  };
  const keys = Array.from({ length: 21 }, (_, i) => `r${i}`);
  const times = (ms: number) => keys.map((key): [string, number] => [key, ms]);
  await using archive = await archiveOf([...times(9), ['tied', 9]], [['tied', 9]]);
  await archive.append('riders', 0, [{ ...rider('wide', 1), rawValue: Buffer.from('as it came') }]);
  await archive.append('riders', 1, [{ ...rider('ahead'), timestampMs: 2n ** 62n }]);
  expect((await ran(['topics', '--partitions', '1'], env)).code).toBe(0);
  expect(await load(archive, '--repartition')).toEqual([
    0,
    `Loaded 25 records and 0 rejected: ${archive.dir}`,
    'Of 1 key the last two records have one timestamp (riders/tied): publish what holds',
    '1 value came with more fields than our schema has: these are not loaded',
    '1 timestamp in the future, or before the year 1: loaded with the present, or that year',
  ]);
  await using older = await archiveOf([...times(5), ['tied', 9]]);
  const named = keys.slice(0, 20).map((key) => `riders/${key}`);
  expect(await load(older, '--append')).toEqual([
    0,
    `Loaded 0 records and 0 rejected: ${older.dir}`,
    `Of 1 key the topics hold the same record, and of 21 a newer one (${named.join(', ')} and 1 more (--json names all))`,
  ]);
});
