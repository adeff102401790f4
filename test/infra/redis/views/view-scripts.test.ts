import { expect, it } from 'vitest';
import type { RedisConnection } from '../../../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { viewWriterOver } from '../../../../infra/redis/views/redis-view-writer.ts';
import { lead } from '../../../support/stores/lead.ts';
import { SharedStore } from '../../../support/stores/shared-store.ts';
import { viewScriptCases } from './script-cases.ts';

viewScriptCases();

/** A writer to a Redis in memory, whose connection is another one in some ways. */
const writerOver = (changed: Partial<RedisConnection>, { connection } = new SharedStore()) =>
  viewWriterOver({ ...connection, ...changed }, redisKeys(''), 'one');

it('the masters have as much room as if each were as full as the fullest', async () => {
  const info = (used: number, max: number) => `used_memory:${used}\r\nmaxmemory:${max}\r\n`;
  const roomOf = async (...infos: string[]) => {
    const masters = async () => infos.map((each) => async () => Buffer.from(each));
    return writerOver({ masters }).leadership!.room();
  };
  expect(await roomOf(info(10, 100), info(30, 100), info(20, 100))).toBe(210);
  expect(await roomOf(info(10, 100), 'used_memory:5\r\n')).toBe(180);
  expect(await roomOf('used_memory:5\r\n')).toBeNull();
});

// docs/rules.md#fill
it('a Redis that would drop views is refused, and one that keeps them is asked once', async () => {
  let [policy, asked] = ['allkeys-lru', 0];
  const ask = async () => {
    asked += 1;
    return Buffer.from(`# Memory\r\nmaxmemory_policy:${policy}\r\n`);
  };
  const leadership = writerOver({ masters: async () => [ask] }).leadership!;
  const message = expect.stringContaining('maxmemory-policy is allkeys-lru, want noeviction');
  for (const times of [1, 2]) {
    await expect(leadership.look([1])).rejects.toMatchObject({ retry: false, message });
    expect(asked).toBe(times);
  }
  policy = 'noeviction';
  for (let i = 0; i < 2; i++) expect(await leadership.look([1])).toEqual([{ fence: '', position: null }]);
  expect(asked).toBe(3);
});

it('a look is told a second time only what has changed', async () => {
  const store = new SharedStore();
  const replies: unknown[] = [];
  const command: RedisConnection['command'] = async (...args) => {
    const reply = await store.connection.command(...args);
    replies.push(reply);
    return reply;
  };
  const { leadership } = writerOver({ command }, store);
  await lead(writerOver({}, store), [1, 2]);
  for (let i = 0; i < 2; i++) await leadership!.look([1, 2]);
  const [fence, second] = [expect.any(Buffer), expect.any(Buffer)];
  // The script is not known to Redis at first.
  expect(replies.slice(-2)).toEqual([
    [fence, [second], [Buffer.from('')], [1, 1]],
    [fence, [], [], []],
  ]);
});

it('a batch that Redis refuses is not written, and is once it is sent again', async () => {
  const store = new SharedStore();
  let refusal = '';
  const command: RedisConnection['command'] = (...args) =>
    refusal ? Promise.reject(new Error(refusal)) : store.connection.command(...args);
  const writer = writerOver({ command }, store);
  await lead(writer, [1]);
  for (const words of ['NOAUTH Authentication required.', 'READONLY You cannot', 'OOM command', 'BUSY Redis is busy']) {
    refusal = words;
    await expect(writer.commit(1, [])).rejects.toThrow(words);
    refusal = '';
    expect(await writer.commit(1, [])).toMatchObject({ committed: true });
  }
});
