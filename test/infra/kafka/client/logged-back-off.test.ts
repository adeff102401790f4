import { expect, it } from 'vitest';
import { untilAnswered } from '../../../../infra/kafka/client/logged-back-off.ts';

const { signal } = new AbortController();

function keptLog() {
  const lines: string[] = [];
  const keep = (message: string) => void lines.push(message);
  return { lines, log: { info: keep, warn: keep, error: keep } };
}

it('a server that does not answer is given up after the limit, with what was tried and the fault', async () => {
  const { log, lines } = keptLog();
  let tried = 0;
  const away = untilAnswered(
    'Cannot read the bounds',
    async () => {
      tried++;
      throw new Error('Request timed out');
    },
    { log, signal, giveUpMs: 500 },
  );
  await expect(away).rejects.toThrow(
    /^Cannot read the bounds: Request timed out; given up after Kafka failed for 0.5 s$/,
  );
  expect([tried > 1, lines]).toEqual([true, ['Cannot read the bounds: Request timed out; trying again']]);
});

it('a server that answers again is said in plain words, and a later fault has the whole limit again', async () => {
  const { log, lines } = keptLog();
  const answers = [new Error('away'), 1, new Error('away'), 2];
  const attempt = async () => {
    const answer = answers.shift()!;
    if (typeof answer !== 'number') throw answer;
    return answer;
  };
  for (const wanted of [1, 2])
    expect(await untilAnswered('Cannot read the bounds', attempt, { log, signal, giveUpMs: 500 })).toBe(wanted);
  expect(lines.at(-1)).toBe('It could read the bounds now: Kafka answers again');
});
