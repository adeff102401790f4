import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import { latestRecords } from '../reference/facts.ts';
import { differencesAfter, Hammer, type Question, questionsOf } from '../support/processes/calendar-answers.ts';
import { Processes } from '../support/processes/process.ts';
import { type RedisCluster, startRedisCluster } from '../support/servers/redis-cluster.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { portlandKeys } from '../support/worlds/portland.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';

const newRides = '*:ride:new*';
const now = '2015-06-13T19:00:00Z';
const processes = new Processes();
let cluster: RedisCluster | undefined;
afterAll(async () => {
  await processes.close();
  await cluster?.stop();
});

// docs/rules.md#complete, #fence
it('a Redis Cluster whose named node dies, and whose replica lacks the last writes, is used on and shows nothing of the past', async () => {
  cluster = await startRedisCluster({ replicas: true });
  const folder = await processes.folder();
  const portland = await PortlandInKafka.load();
  const tokens = await riderTokens(folder);
  const riders = await tokens.of('r0020', 'r0007');
  const questions = async (): Promise<Question[]> =>
    questionsOf(latestRecords(portland.records), Date.parse(now), {
      key: portlandKeys.live,
      tokens: riders,
    });
  const env = { REDIS_URL: cluster.url, REDIS_CLUSTER: 'true' };
  const projector = await processes.start('projector', { ...env, ...portland.env });
  const api = await processes.start('api', { ...env, NOW: now, ...tokens.env });
  await Promise.all([projector.ready(), api.ready()]);

  for (const { url } of cluster.nodes) {
    const client = new Redis(url);
    expect(await client.dbsize()).toBeGreaterThan(100);
    client.disconnect();
  }

  // The replica stands still, and its master has dropped it: what is written now it will never have.
  const [master, replica] = [cluster.nodes[0]!, cluster.replicas[0]!];
  const admin = new Redis(master.url);
  process.kill(replica.pid, 'SIGSTOP');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await portland.publishRides(30);
  const wanted = await questions();
  expect((await differencesAfter(api.api, wanted, 15_000)).slice(0, 5)).toEqual([]);
  expect((await admin.keys(newRides)).length).toBeGreaterThan(0);
  admin.disconnect();

  const hammer = new Hammer(api.api, wanted);
  await sleep(300);
  await master.kill();
  process.kill(replica.pid, 'SIGCONT');
  const heir = new Redis(replica.url);
  expect(await heir.keys(newRides)).toEqual([]);
  await expect.poll(() => heir.call('ROLE'), { timeout: 30_000 }).toEqual(expect.arrayContaining(['master']));
  heir.disconnect();
  expect((await differencesAfter(api.api, wanted, 30_000)).slice(0, 5)).toEqual([]);
  await sleep(300);
  await hammer.stop();
  expect(hammer.wrong.slice(0, 5)).toEqual([]);
  expect([hammer.right > 0, hammer.refused > 0]).toEqual([true, true]);
  expect([projector.hasEnded(), api.hasEnded()]).toEqual([false, false]);
  // Who starts now needs the address of another node.
  const addresses = `${master.url},127.0.0.1:${cluster.nodes[1]!.port}`;
  const late = await processes.start('api', { ...env, REDIS_URL: addresses, NOW: now });
  await late.ready();
  await portland.close();
}, 120_000);
