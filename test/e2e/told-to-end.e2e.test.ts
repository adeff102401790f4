import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { Processes } from '../support/processes/process.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { tarpit } from '../support/servers/tarpit.ts';
import { portlandDirectory } from '../support/worlds/portland.ts';

// Every command ends when it is told to, whatever it waits for: a tool within about 2 s, a server within 5 s. All share one
// way (projector/running/stop-signal.ts); these two wait for a server that takes connections and never answers.

const processes = testStack().use(new Processes());

// `stop` allows for a machine that is busy with other tests. What this is about took a minute, or had no end.
const endedWell = (err: string) => expect(err).not.toMatch(/^ +at |"stack"|Warning/m);

it('a tool ends though Kafka never answers, and says that it is not finished', async () => {
  const pit = await tarpit();
  const args = ['archive', 'save', join(await processes.folder(), 'archive')];
  const running = await processes.start(args, { KAFKA_BROKERS: pit.address });
  await pit.caught;
  const { code, err } = await running.stop();
  expect(code).toBe(1);
  expect(err).toContain('Stopped before the end');
  endedWell(err);
  pit.close();
});

it('a server ends though Redis froze while it served; a second signal ends it at once', async () => {
  await using open = new AsyncDisposableStack();
  const redis = open.adopt(await startRedisServer(), (each) => each.stop());
  open.defer(() => void process.kill(redis.pid, 'SIGCONT'));
  const env = { ARCHIVE_DIR: portlandDirectory, KAFKA_PARTITIONER: 'crc32', REDIS_URL: redis.url };
  const started = async () => (await processes.start('start', env)).ready();
  const [one, other] = await Promise.all([started(), started()]);
  process.kill(redis.pid, 'SIGSTOP');
  // A read that waits for Redis as well.
  const headers = { 'X-Api-Key': 'x' };
  void fetch(`${one.api}/metros/portland/days/2015-06-13`, { headers }).catch(() => undefined);
  // Until beats and the read are on their way.
  await sleep(1_000);
  const hurried = async () => {
    process.kill(other.pid, 'SIGINT');
    await sleep(200);
    return other.stop();
  };
  const [{ code, err }, { signal }] = await Promise.all([one.stop(), hurried()]);
  expect([code, signal]).toEqual([0, 'SIGTERM']);
  endedWell(err);
});
