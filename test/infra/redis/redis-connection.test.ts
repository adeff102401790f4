import { describe, expect, it } from 'vitest';
import { readText, scanKeys, storeErrors } from '../../../infra/redis/redis-connection.ts';
import { StoreRefusesError } from '../../../projector/ports/view-writer.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';

describe('what becomes of an error of Redis', () => {
  const full = new Error("OOM command not allowed when used memory > 'maxmemory'.");
  const password = new Error('WRONGPASS invalid username-password pair');
  const noCluster = new Error('ERR This instance has cluster support disabled');

  it.each([
    ['who waits tries again where it is full', true, full, true, /^Redis is full/],
    ['who waits tries again after a password', true, password, true, /^Redis refuses the user/],
    ['who waits ends after a wrong setting', true, noCluster, false, /^Cannot keep views.*: it is not a Redis Cluster/],
    ['who asks once ends after a password', false, password, false, /^Cannot keep views.*: it refuses/],
  ])('%s', (_, waits, cause, retry, message) => {
    const told = storeErrors({ cluster: true, waits })(cause);
    expect(told).toBeInstanceOf(StoreRefusesError);
    expect(told).toMatchObject({ retry, message: expect.stringMatching(message), cause });
  });

  it('any other is told as it is, as is to who asks once, that it is full, and MOVED of a cluster, which fails over', () => {
    const moved = new Error('MOVED 866 127.0.0.1:7001');
    for (const other of [new Error('ERR unknown command'), moved])
      expect(storeErrors({ cluster: true, waits: true })(other)).toBe(other);
    expect(storeErrors({ cluster: false, waits: false })(full)).toBe(full);
    expect(storeErrors({ cluster: false, waits: true })(moved)).toMatchObject({ retry: false });
  });
});

describe('keys', () => {
  const names = ['a*b:1', 'a*b:x?y1', 'aXb:1', 'a*b:xzy1', '0a*b:1', 'x?y1', 'a*b:'];

  it('are found, page by page, by how they begin and by a text that they contain, which are no patterns', async () => {
    const { connection } = new SharedStore();
    for (const name of names) await connection.command(name, ['SET', name, 'ä']);
    for (let i = 0; i < 50; i++) await connection.command('', ['SET', `many${i}`, '']);
    const found = async (options: Parameters<typeof scanKeys>[1]): Promise<string[]> =>
      (await Array.fromAsync(scanKeys(connection, options))).flatMap((step) => step.names.map(String)).sort();
    expect(await found({ prefix: 'a*b:' })).toEqual(['a*b:', 'a*b:1', 'a*b:x?y1', 'a*b:xzy1']);
    expect(await found({ prefix: 'a*b:', within: 'x?y' })).toEqual(['a*b:x?y1']);
    expect(await found({ prefix: '' })).toHaveLength(names.length + 50);
    const reason = new Error('over');
    await expect(found({ prefix: '', signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('have a text, or none, or another type, which is none', async () => {
    const { connection } = new SharedStore();
    await connection.command('', ['SET', 'text', 'ä']);
    await connection.command('', ['RPUSH', 'list', 'x']);
    const texts = ['text', 'none', 'list'].map((key) => readText(connection, key));
    expect(await Promise.all(texts)).toEqual(['ä', null, null]);
    const away = { ...connection, command: async () => Promise.reject(new Error('Redis is away')) };
    await expect(readText(away, 'list')).rejects.toThrow('away');
  });
});
