import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PartitionHash } from '../../../infra/archive/partition-ledger.ts';

const sha256 = (...parts: (string | Buffer)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
const bytesOf = (offset: number) => Buffer.from(`record ${offset};`);
const add = (hash: PartitionHash, offset: number) => hash.add(offset, bytesOf(offset), 0, bytesOf(offset).length);

// docs/rules.md#archive-manifest
describe('the hash of a partition', () => {
  test('is empty without records', () => {
    expect(new PartitionHash().digest()).toBe('');
  });

  test('is the SHA-256 of the hash before a chunk of 65,536 offsets, and the chunk’s records', () => {
    const hash = new PartitionHash();
    for (const offset of [3, 65_535, 65_536, 200_000]) add(hash, offset);
    const first = sha256(bytesOf(3), bytesOf(65_535));
    const second = sha256(first, bytesOf(65_536));
    expect(hash.digest()).toBe(sha256(second, bytesOf(200_000)));
  });

  test('is the same whether the records lie in a row or each for itself', () => {
    const [row, each] = [new PartitionHash(), new PartitionHash()];
    const all = Buffer.concat([1, 2, 3].map(bytesOf));
    let pos = 0;
    for (const offset of [1, 2, 3]) {
      row.add(offset, all, pos, pos + bytesOf(offset).length);
      pos += bytesOf(offset).length;
      add(each, offset);
      each.settle();
    }
    expect(row.digest()).toBe(each.digest());
  });

  test('can be taken up again from its start', () => {
    const whole = new PartitionHash();
    for (const offset of [1, 70_000, 70_001]) add(whole, offset);
    const start = whole.start();
    expect(start.from_offset).toBe(65_536);
    const again = new PartitionHash(start.chain);
    for (const offset of [70_000, 70_001]) add(again, offset);
    expect(again.digest()).toBe(whole.digest());
    for (const hash of [whole, again]) for (const offset of [70_002, 140_000]) add(hash, offset);
    expect(again.digest()).toBe(whole.digest());
  });
});
