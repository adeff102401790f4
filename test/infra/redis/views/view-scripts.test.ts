import { expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { viewWriterOver } from '../../../../infra/redis/views/redis-view-writer.ts';
import { lead } from '../../../support/stores/lead.ts';
import { SharedStore } from '../../../support/stores/shared-store.ts';
import { viewScriptCases } from './script-cases.ts';

viewScriptCases();

it('the masters have as much room as if each were as full as the fullest', async () => {
  const info = (used: number, max: number) => `used_memory:${used}\r\nmaxmemory:${max}\r\n`;
  const roomOf = async (...infos: string[]) => {
    const masters = async () => infos.map((each) => async () => Buffer.from(each));
    return viewWriterOver({ ...new SharedStore().connection, masters }, redisKeys(''), 'one').leadership!.room();
  };
  expect(await roomOf(info(10, 100), info(30, 100), info(20, 100))).toBe(210);
  expect(await roomOf(info(10, 100), 'used_memory:5\r\n')).toBe(180);
  expect(await roomOf('used_memory:5\r\n')).toBeNull();
});

it('a batch that Redis refuses is not written, and is once it is sent again', async () => {
  const { connection } = new SharedStore();
  let refusal = '';
  const command: typeof connection.command = (...args) =>
    refusal ? Promise.reject(new Error(refusal)) : connection.command(...args);
  const writer = viewWriterOver({ ...connection, command }, redisKeys(''), 'one');
  await lead(writer, [1]);
  for (const words of ['NOAUTH Authentication required.', 'READONLY You cannot', 'OOM command', 'BUSY Redis is busy']) {
    refusal = words;
    await expect(writer.commit(1, [])).rejects.toThrow(words);
    refusal = '';
    expect(await writer.commit(1, [])).toMatchObject({ committed: true });
  }
});
