import { afterAll, expect, it, vi } from 'vitest';
import { ensureTopics } from '../../infra/kafka/topics/ensure-topics.ts';
import { runCli } from '../../services/command-line.ts';
import { heard } from '../support/processes/heard.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { TestKafka } from '../support/servers/kafka.ts';

const processes = new Processes();
afterAll(() => processes.close());

const get = async ({ origin }: RunningService, path: string) => (await fetch(origin + path)).text();
const told = ({ out, err }: RunningService) => out() + err();

// docs/rules.md#deleted-records
it('records that are deleted from the log are told by each projector and by verify, and a start that drops their views names the cause', async () => {
  await using kafka = new TestKafka();
  await ensureTopics({ ...kafka.options, partitions: 1 });
  await kafka.sendMetros(['portland', 'eugene', 'salem']);
  const env = {
    KAFKA_BROKERS: kafka.connection.brokers.join(),
    KAFKA_TOPIC_PREFIX: kafka.topicPrefix,
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
  };
  const start = async () => (await processes.start('projector', env)).ready();
  const verify = async () => {
    const { code, out, err } = await heard((io) => runCli(['verify', '--json'], io, env));
    return { code, summary: JSON.parse(out.at(-1)!).summary, err: err.join('\n') };
  };
  const leader = await start();
  await expect.poll(async () => (await verify()).summary.deleted, { timeout: 20_000 }).toBeNull();
  expect(await get(leader, '/readyz')).not.toContain('deleted');
  const setPolicy = async (topic: 'metros' | 'rides', value: string) => {
    // By age the broker would delete all of them, whenever it looks next.
    const keep = { name: 'retention.ms', value: '-1' };
    const configEntries = [{ name: 'cleanup.policy', value }, keep];
    const entry = { type: 2, name: kafka.topicPrefix + topic, configEntries };
    await (await kafka.admin()).alterConfigs({ validateOnly: false, resources: [entry] });
  };
  // Of a topic that is compacted alone, Kafka deletes nothing.
  await setPolicy('metros', 'compact,delete');
  await vi.waitFor(() => kafka.deleteRecords('metros', 2), { timeout: 20_000, interval: 200 });
  await setPolicy('metros', 'compact');
  await setPolicy('rides', 'compact,delete');
  // It stands by with the log as it is now, and knows from what stands beside the views what is lost.
  const standby = await start();
  const deleted = 'records were deleted from the log: metros/0 below offset 2';
  const ofPolicy = 'topic rides has cleanup.policy compact,delete';
  for (const projector of [standby, leader]) {
    // A leader looks once a minute.
    await expect.poll(() => get(projector, '/readyz'), { timeout: 90_000, interval: 1_000 }).toContain(deleted);
    expect(await get(projector, '/readyz')).toContain(ofPolicy);
    const metrics = await get(projector, '/metrics');
    for (const each of ['metros', 'rides'])
      expect(metrics).toContain(`ride_calendar_log_loses_records{topic="${each}"} 1`);
    expect(metrics).toContain('ride_calendar_log_loses_records{topic="nights"} 0');
    expect(told(projector)).toContain(`"The log loses records: ${deleted}`);
  }
  const verified = await verify();
  expect(verified).toMatchObject({ code: 1, summary: { deleted }, err: expect.stringContaining(deleted) });
  await leader.kill();
  await standby.printed(/view.* missing or different, and rewritten.* The cause: records were deleted from the log/);
  await expect
    .poll(async () => (await verify()).summary, { timeout: 20_000 })
    .toMatchObject({ deleted: null, differences: 0 });
  await standby.stop();
}, 240_000);
