import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { runCli } from '../../services/command-line.ts';
import { heard } from '../support/processes/heard.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { steppedClock } from '../support/processes/stepped-clock.ts';
import { freshGroup, freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { metroValue, TestKafka } from '../support/servers/kafka.ts';

// A wall clock that is wrong at a projector's start, and set right while it waits (docs/rules.md#clock, projector/SPEC.md P61).

const processes = new Processes();
afterAll(() => processes.close());

const hourS = 3_600;
// Far more than a busy machine adds, and far less than the step.
const slackS = 60;

/** A projector whose wall clock is off by so much, with views of its own. */
async function projector(kafka: Env, offS: number) {
  const clock = await steppedClock(await processes.folder());
  if (!clock) throw new Error("This test needs faketime: install it (Debian's package is faketime)");
  await clock.step(offS);
  const env = { ...kafka, KAFKA_GROUP: freshGroup(), REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  const running = await processes.start('projector', { ...env, ...clock.env });
  const metric = async (name: string, label = ''): Promise<number> => {
    const text = await (await fetch(`${running.origin}/metrics`)).text();
    const series = new RegExp(`^ride_calendar_${name}(?:\\{[^}]*${label}[^}]*\\})? (\\S+)$`, 'm');
    return Number(series.exec(text)![1]);
  };
  const age = () => metric('unreadable_age_seconds');
  const wait = (on: string) => metric('waiting_seconds', `for="${on}"`);
  /** The age that `lag` says, which waits for Kafka. On a busy machine it may not know. */
  const lag = async (): Promise<number> => {
    const { out } = await heard((io) => runCli(['lag', '--json'], io, { ...env, LOG_LEVEL: 'error' }));
    return JSON.parse(out[0]!).oldest_unreadable_age ?? 0;
  };
  const isWithin = (seconds: number, sinceMs: number): boolean =>
    seconds >= 0 && seconds <= (performance.now() - sinceMs) / 1_000 + slackS;
  return {
    ...{ ...running, clock, lag, isWithin },
    /** How far its wall clock is off, as its answers say. */
    async offS(): Promise<number> {
      const { headers } = await fetch(`${running.origin}/healthz`);
      return (Date.parse(headers.get('date')!) - Date.now()) / 1_000;
    },
    /** The age and the wait are over so many seconds soon, and no more than what has passed. */
    async waits(on: string, sinceMs: number, overS: number): Promise<void> {
      const wrong: number[] = [];
      const look = (seconds: number): number => {
        if (!isWithin(seconds, sinceMs)) wrong.push(seconds);
        return seconds;
      };
      for (const seconds of [age, () => wait(on), ...(on === 'kafka' ? [] : [lag])])
        await expect.poll(async () => look(await seconds()), { timeout: 20_000 }).toBeGreaterThan(overS);
      expect(wrong, `with a clock that was off by ${offS} s`).toEqual([]);
    },
    async waitsNoMore(on: string): Promise<void> {
      await expect.poll(async () => [await age(), await wait(on)]).toEqual([0, 0]);
    },
  };
}

it('a wall clock an hour slow or fast at the start, and then set right, hides no wait and fakes none', async () => {
  await using servers = new AsyncDisposableStack();
  const broker = servers.adopt(await startKafkaBroker(), (each) => each.stop());
  const kafka = servers.use(new TestKafka(broker.brokers));
  await kafka.createTopics();
  const env = { KAFKA_BROKERS: broker.brokers, KAFKA_TOPIC_PREFIX: kafka.topicPrefix };
  const both = await Promise.all([-hourS, hourS].map((offS) => projector(env, offS)));
  const each = (does: (one: (typeof both)[number]) => Promise<unknown>) => Promise.all(both.map(does));
  await each((one) => one.ready());
  const [slow, fast] = await each((one) => one.offS());
  expect([Math.round(Number(slow) / hourS), Math.round(Number(fast) / hourS)]).toEqual([-1, 1]);

  const transaction = await kafka.transaction();
  const openedMs = performance.now();
  const messages = [{ key: 'a', value: metroValue('a'), partition: 0 }];
  await transaction.send({ topic: `${kafka.topicPrefix}metros`, messages });
  await each((one) => one.waits('transaction', openedMs, 1));
  await each((one) => one.clock.step(0));
  await each((one) => expect.poll(async () => Math.abs(await one.offS())).toBeLessThan(slackS));
  await each((one) => one.waits('transaction', openedMs, 3));
  await transaction.commit();
  await each((one) => one.waitsNoMore('transaction'));

  const frozenMs = performance.now();
  process.kill(broker.pid, 'SIGSTOP');
  servers.defer(() => void process.kill(broker.pid, 'SIGCONT'));
  await each((one) => one.waits('kafka', frozenMs, 2));
  const lags = each(async (one) => expect(one.isWithin(await one.lag(), frozenMs)).toBe(true));
  await sleep(2_000);
  process.kill(broker.pid, 'SIGCONT');
  await lags;
  await each((one) => one.waitsNoMore('kafka'));
  await each(async (one) => expect((await one.stop()).err).not.toContain('Reading the log again'));
});
