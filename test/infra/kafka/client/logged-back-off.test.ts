import { expect, it } from 'vitest';
import { untilAnswered } from '../../../../infra/kafka/client/logged-back-off.ts';
import { silentLog } from '../../../support/processes/heard.ts';

it('a server that does not answer is given up after the limit, with what was tried and the fault, logged once', async () => {
  const lines: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void lines.push(message) };
  const { signal } = new AbortController();
  let tried = 0;
  const attempt = async () => {
    tried++;
    throw new Error('Request timed out');
  };
  await expect(untilAnswered('Cannot read the bounds', attempt, { log, signal, giveUpMs: 500 })).rejects.toThrow(
    /^Cannot read the bounds: Request timed out; given up after Kafka failed for 0.5 s$/,
  );
  expect([tried > 1, lines]).toEqual([true, ['Cannot read the bounds: Request timed out; trying again']]);
});
