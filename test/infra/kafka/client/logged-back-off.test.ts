import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { commandGiveUpMs, LoggedBackOff, untilAnswered } from '../../../../infra/kafka/client/logged-back-off.ts';
import { silentLog } from '../../../support/processes/heard.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Asks a Kafka that fails for as long as `away` says so. */
function asking(giveUpMs?: number) {
  const heard: string[] = [];
  const say = (level: string) => (message: string) => heard.push(`${level}: ${message}`);
  const log = { ...silentLog, info: say('info'), warn: say('warn') };
  const state = { heard, away: true, asked: 0, ended: '' };
  const attempt = async () => {
    state.asked++;
    if (state.away) throw new Error('no reply');
    return 'answered';
  };
  const { signal } = new AbortController();
  const options = { log, signal, ...(giveUpMs && { giveUpMs }) };
  void untilAnswered('Cannot look', attempt, options).then(
    (answer) => (state.ended = answer),
    ({ message }) => (state.ended = message),
  );
  return state;
}

it('while Kafka is away it is asked every five seconds, which is logged about once a minute, and so is the end', async () => {
  const state = asking();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([state.asked, state.heard.length]).toEqual([16, 2]);
  await vi.advanceTimersByTimeAsync(4 * 60_000);
  expect([state.asked, state.heard.length]).toEqual([64, 6]);
  expect(new Set(state.heard)).toEqual(new Set(['warn: Cannot look: no reply; trying again']));
  state.away = false;
  await vi.advanceTimersByTimeAsync(5_000);
  expect([state.heard.at(-1), state.ended]).toEqual(['info: It could look now: Kafka answers again', 'answered']);
});

it('once it has answered, it is asked again as soon as at first', async () => {
  const { signal } = new AbortController();
  const backOff = new LoggedBackOff('Cannot look', { log: silentLog, signal });
  for (let i = 0; i < 8; i++) await Promise.all([backOff.failed('x'), vi.advanceTimersByTimeAsync(5_000)]);
  backOff.succeeded();
  const again = vi.fn();
  void backOff.failed('x').then(again);
  await vi.advanceTimersByTimeAsync(300);
  expect(again).toHaveBeenCalled();
});

it('a command gives up once Kafka has failed for half a minute', async () => {
  const state = asking(commandGiveUpMs);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(state.ended).toBe('');
  await vi.advanceTimersByTimeAsync(6_000);
  expect(state.ended).toBe('Cannot look: no reply; given up after Kafka failed for 30 s');
});
