import { describe, expect, it } from 'vitest';
import { readText, scanKeys, storeErrors } from '../../../infra/redis/redis-connection.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';

it('an error of Redis is waited for by who waits, unless a setting is wrong, and ends who asks once', () => {
  const password = new Error('WRONGPASS invalid username-password pair');
  const waits = { cluster: true, waits: true };
  const message = expect.stringMatching(/^Redis refuses the user/);
  expect(storeErrors(waits)(password)).toMatchObject({ retry: true, message });
  expect(storeErrors(waits)(new Error('OOM command not allowed'))).toMatchObject({ retry: true });
  const noCluster = new Error('ERR This instance has cluster support disabled');
  expect(storeErrors(waits)(noCluster)).toMatchObject({ retry: false });
  expect(storeErrors({ ...waits, waits: false })(password)).toMatchObject({ retry: false, cause: password });
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
    await connection.command('', ['SADD', 'set', 'x']);
    const texts = ['text', 'none', 'set'].map((key) => readText(connection, key));
    expect(await Promise.all(texts)).toEqual(['ä', null, null]);
    const away = { ...connection, command: async () => Promise.reject(new Error('Redis is away')) };
    await expect(readText(away, 'set')).rejects.toThrow('away');
  });
});
