import { expect, it, onTestFinished, vi } from 'vitest';
import { kafkaJs } from '../../../../infra/kafka/client/kafka-js.ts';
import { keptLog } from '../../../support/processes/heard.ts';
import { tarpit } from '../../../support/servers/tarpit.ts';

it('what the client says is logged at most once a minute, and what a broker answers that has just begun only if it comes again', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { lines: heard, log } = keptLog();
  const connection = { brokers: ['kafka:1'], ssl: false, sasl: null };
  const logger = kafkaJs(connection, log, new AbortController().signal).logger();
  const say = () => {
    for (const message of ['no broker', 'Response early']) logger.warn(message, { error: 'why' });
    return heard.splice(0);
  };
  const [broker, response] = ['Kafka: no broker: why', 'Kafka: Response early: why'];
  expect([say(), say(), say()]).toEqual([[broker], [response], []]);
  vi.advanceTimersByTime(59_000);
  expect(say()).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(say()).toEqual([broker, response]);
});

it.each(['frozen', 'gone'])('a client whose signal aborts stops trying a broker that is %s', async (state) => {
  const pit = await tarpit();
  if (state === 'gone') pit.close();
  const stop = new AbortController();
  const { lines: heard, log } = keptLog();
  const connecting = kafkaJs({ brokers: [pit.address], ssl: false, sasl: null }, log, stop.signal)
    .admin()
    .connect();
  connecting.catch(() => {});
  if (state === 'frozen') await pit.caught;
  else await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0), { timeout: 60_000 });
  stop.abort();
  const before = heard.length;
  // It had no end.
  await expect(connecting).rejects.toThrow();
  expect(heard.length).toBe(before);
  pit.close();
});
