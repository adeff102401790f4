import { describe, expect, it } from 'vitest';
import { readText, scanKeys, storeErrors } from '../../../infra/redis/redis-connection.ts';
import { StoreRefusesError } from '../../../projector/ports/view-writer.ts';
import { connectionInMemory } from './views/script-cases.ts';

describe('what becomes of an error of Redis', () => {
  const full = new Error("OOM command not allowed when used memory > 'maxmemory'.");
  const password = new Error('WRONGPASS invalid username-password pair');
  const noCluster = new Error('ERR This instance has cluster support disabled');

  it.each([
    ['who waits tries again where it is full', true, full, { retry: true, message: /^Redis is full/ }],
    ['who waits tries again after a password', true, password, { retry: true, message: /^Redis refuses the user/ }],
    [
      'who waits ends after a wrong setting',
      true,
      noCluster,
      { retry: false, message: /^Cannot keep views.*: it is not/ },
    ],
    [
      'who asks once ends after a password',
      false,
      password,
      { retry: false, message: /^Cannot keep views.*: it refu/ },
    ],
    ['who asks once ends after a wrong setting', false, noCluster, { retry: false, message: /: it is not a Redis Cl/ }],
  ])('%s', (_, waits, cause, { retry, message }) => {
    const told = storeErrors({ cluster: true, waits })(cause);
    expect(told).toBeInstanceOf(StoreRefusesError);
    expect(told).toMatchObject({ retry, message: expect.stringMatching(message), cause });
  });

  it('any other is told as it is, and to who asks once, that it is full', () => {
    const other = new Error('ERR unknown command');
    expect(storeErrors({ cluster: false, waits: true })(other)).toBe(other);
    expect(storeErrors({ cluster: false, waits: false })(full)).toBe(full);
  });

  it('MOVED is none of a cluster, which fails over', () => {
    const moved = new Error('MOVED 866 127.0.0.1:7001');
    expect(storeErrors({ cluster: true, waits: true })(moved)).toBe(moved);
    expect(storeErrors({ cluster: false, waits: true })(moved)).toMatchObject({ retry: false });
  });
});

describe('keys', () => {
  const names = ['a*b:1', 'a*b:x?y1', 'aXb:1', 'a*b:xzy1', '0a*b:1', 'x?y1', 'a*b:'];

  async function filled() {
    const connection = connectionInMemory();
    for (const name of names) await connection.command(name, ['SET', name, 'ä']);
    const found = async (options: Parameters<typeof scanKeys>[1]): Promise<string[]> => {
      const all: string[] = [];
      for await (const step of scanKeys(connection, options)) all.push(...step.names.map(String));
      return all.sort();
    };
    return { connection, found };
  }

  it('are found by how they begin and by a text that they contain, which are no patterns', async () => {
    const { found } = await filled();
    expect(await found({ prefix: 'a*b:' })).toEqual(['a*b:', 'a*b:1', 'a*b:x?y1', 'a*b:xzy1']);
    expect(await found({ prefix: 'a*b:', within: 'x?y' })).toEqual(['a*b:x?y1']);
    expect(await found({ prefix: '' })).toHaveLength(names.length);
  });

  it('are found step by step, until the signal aborts', async () => {
    const { connection, found } = await filled();
    for (let i = 0; i < 50; i++) await connection.command('', ['SET', `many${i}`, '']);
    expect(await found({ prefix: 'many' })).toHaveLength(50);
    const stop = new AbortController();
    const seen = async () => {
      for await (const _ of scanKeys(connection, { prefix: 'many', signal: stop.signal }))
        stop.abort(new Error('over'));
    };
    await expect(seen()).rejects.toThrow('over');
  });

  it('have a text, or none, or another type, which is none', async () => {
    const { connection } = await filled();
    await connection.command('list', ['RPUSH', 'list', 'x']);
    expect(await Promise.all(['a*b:1', 'none', 'list'].map((key) => readText(connection, key)))).toEqual([
      'ä',
      null,
      null,
    ]);
    const away = { ...connection, command: async () => Promise.reject(new Error('Redis is away')) };
    await expect(readText(away, 'list')).rejects.toThrow('away');
  });
});
