import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rejectedSchema } from '../../../../schemas/avro/avro-types.ts';
import { TestArchive, writeContainer } from '../../../support/worlds/archive.ts';
import { rejectAt as reject } from '../../../support/worlds/records.ts';

// docs/rules.md#archived-rejects
test('bad records are kept as they came, each once, beside those that another library wrote, topics named in full', async () => {
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
  const bare = reject(3, { raw: { key: null, value: null, headers: {} } });
  expect(archive.reject([reject(1), reject(2), reject(2), bare])).toBe(2);
  expect(archive.rejected()).toMatchObject([{ topic: 'nights', offset: 1, reason: 'theirs' }, reject(2), bare]);
  // At other places; or of a topic that was made anew.
  const others = [reject(2, { partition: 1 }), reject(2, { topic: 'rides' }), reject(1, { timestampMs: 99 })];
  expect(archive.reject([reject(2), ...others])).toBe(3);
  expect(archive.rejected().slice(3)).toEqual(others);
});
