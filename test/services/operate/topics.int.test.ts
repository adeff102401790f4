import { expect, it } from 'vitest';
import { ran } from '../../support/processes/ran.ts';
import { TestKafka } from '../../support/servers/kafka.ts';

const longMax = '9223372036854775807';

// docs/rules.md#topics, #compaction
it('topics says what differs and what to do: nothing, or a setting to alter; with exit code 1 where records would be lost or topics are missing', async () => {
  await using kafka = new TestKafka();
  const name = `${kafka.topicPrefix}metros`;
  const run = (...args: string[]) => ran(['topics', ...args], { ...kafka.env, LOG_LEVEL: 'silent' });
  const check = () => run('--check', '--partitions', '3');
  const none = await check();
  expect([none.code, none.out.length, none.out[0]]).toEqual([1, 9, `${name}: missing, 1 partition`]);
  expect((await check()).out).toEqual(none.out);
  expect((await run('--partitions', '2')).out).toContain(`${kafka.topicPrefix}rides: created, 2 partitions`);
  const says = async (code: number, ...lines: string[]) => {
    const told = await check();
    expect([told.code, told.out]).toEqual([code, expect.arrayContaining(lines)]);
  };
  await says(
    0,
    `${kafka.topicPrefix}rides: different, 2 partitions`,
    '  partitions is 2, wanted 3: works if it was made so; if it grew, see docs/rules.md#partition-growth',
  );
  const weekMs = '604800000';
  const kept = {
    'min.compaction.lag.ms': weekMs,
    'delete.retention.ms': weekMs,
    'message.timestamp.type': 'CreateTime',
  };
  const fix = 'set it with kafka-configs --alter';
  await kafka.alterTopic('metros', { ...kept, 'cleanup.policy': 'compact', 'message.timestamp.after.max.ms': longMax });
  await says(0, `  message.timestamp.after.max.ms is ${longMax}, wanted 86400000: ${fix}`);
  await kafka.alterTopic('metros', { ...kept, 'cleanup.policy': 'delete', 'message.timestamp.after.max.ms': '1' });
  await says(
    1,
    `  cleanup.policy is delete, wanted compact: ${fix}`,
    '  message.timestamp.after.max.ms is 1, wanted 86400000: works all the same; leave it',
  );
});
