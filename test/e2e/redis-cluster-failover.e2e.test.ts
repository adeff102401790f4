import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { ride as rideRecord } from '../reference/example-log.ts';
import { Processes } from '../support/processes/process.ts';
import { TestKafka } from '../support/servers/kafka.ts';
import { startRedisCluster } from '../support/servers/redis-cluster.ts';
import { dumpRedis } from '../support/stores/redis-dump.ts';
import { countedRide, countIn, watchCount } from './counted-ride.ts';

// docs/rules.md#complete, #fence
it('a Redis Cluster whose named node dies, and whose replica lacks the last writes, is used on and shows nothing of the past', async () => {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.adopt(await startRedisCluster({ replicas: true }), (each) => each.stop());
  const kafka = stack.use(new TestKafka());
  const processes = stack.use(new Processes());
  const ride = await countedRide(kafka);
  const [master, replica] = [cluster.nodes[0]!, cluster.replicas[0]!];
  const admin = new Redis(master.url);
  const heir = stack.adopt(new Redis(replica.url, { readOnly: true }), (each) => each.disconnect());
  const env = { REDIS_URL: cluster.url, REDIS_CLUSTER: 'true' };
  const projector = await processes.start('projector', { ...env, ...kafka.env });
  const api = await processes.start('api', env);
  await Promise.all([projector.ready(), api.ready()]);
  const isReadable = (count: number, id = 'taco') => expect.poll(() => countIn(api, id)).toBe(count);
  const stored = async (redis: Redis): Promise<string> =>
    [...(await dumpRedis(redis, 'ride-calendar:')).values()].join();

  // The replica stands still, and its master has dropped it: what is written now it will never have.
  const reader = watchCount(api);
  await isReadable(1);
  await expect.poll(() => stored(heir)).toContain('Ride 1');
  process.kill(replica.pid, 'SIGSTOP');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await isReadable(await ride.publish());
  expect(await stored(admin)).toContain('Ride 2');
  // Rides on the same node that the replica has never heard of.
  await kafka.publish(...Array.from({ length: 12 }, (_, i) => rideRecord(`new${i}`, { title: 'Ride 1' })));
  await isReadable(1, 'new11');
  const ids = (await admin.keys('*:ride:new*')).map((key) => key.split(':').at(-1)!);
  expect(ids.length).toBeGreaterThan(1);
  const newReaders = ids.map((id) => watchCount(api, { id, from: 1 }));
  admin.disconnect();
  await master.kill();
  process.kill(replica.pid, 'SIGCONT');
  expect(await stored(heir)).toContain('Ride 1');
  await expect.poll(() => heir.call('ROLE')).toEqual(expect.arrayContaining(['master']));
  await isReadable(2);
  await isReadable(await ride.publish());
  for (const each of [reader, ...newReaders]) await each.end();
  expect([projector.hasEnded(), api.hasEnded()]).toEqual([false, false]);
});
