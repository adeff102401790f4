import { expect, test, vi } from 'vitest';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { runCli } from '../../../../services/command-line.ts';
import { heard, keptLog } from '../../../support/processes/heard.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { TestKafka } from '../../../support/servers/kafka.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';

// docs/rules.md#deleted-records
test('records that are deleted from the log are told by verify and by who starts then, and a fold that drops their views names the cause', async () => {
  await using kafka = new TestKafka();
  // By age the broker would delete all of them, whenever it looks next.
  await kafka.createTopics({ settings: { 'cleanup.policy': 'compact,delete', 'retention.ms': '-1' } });
  await kafka.sendMetros(['portland', 'eugene', 'salem']);
  const keyPrefix = freshKeyPrefix();
  const verify = async () => {
    const env = { KAFKA_BROKERS: kafka.connection.brokers.join(), KAFKA_TOPIC_PREFIX: kafka.topicPrefix };
    const store = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: keyPrefix };
    const { code, out, err } = await heard((io) => runCli(['verify', '--json'], io, { ...env, ...store }));
    return { code, summary: JSON.parse(out.at(-1)!).summary, err: err.join('\n') };
  };
  const { lines, log } = keptLog();
  await using running = new AsyncDisposableStack();
  const start = async () => {
    const writer = await redisViewWriter({ url: redisUrl(), cluster: false, keyPrefix });
    const eventLog = kafka.eventLog();
    const started = startProjector(eventLog, writer, null, { log });
    running.defer(() => writer.close());
    running.defer(started.stop);
    await started.ready();
    return started;
  };
  const leader = await start();
  await expect.poll(async () => (await verify()).summary.deleted).toBeNull();
  await vi.waitFor(() => kafka.deleteRecords('metros', 2), { timeout: 60_000, interval: 200 });
  const deleted = 'records were deleted from the log: metros/0 below offset 2';
  // It stands by with the log as it is now, and knows from what stands beside the views what is lost.
  const { projector } = await start();
  await expect.poll(() => projector.status().notes.join()).toContain(deleted);
  expect(projector.status().notes.join()).toContain('rides has cleanup.policy compact,delete');
  expect(await verify()).toMatchObject({ code: 1, summary: { deleted }, err: expect.stringContaining(deleted) });
  await leader.stop();
  const named = /view.* missing or different, and rewritten.* The cause: records were deleted from the log/;
  await expect.poll(() => lines.join('\n')).toMatch(named);
  await expect.poll(async () => (await verify()).summary).toMatchObject({ deleted: null, differences: 0 });
});
