import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TestKafka } from '../support/servers/kafka.ts';
import { forAnyVersion, runCommand, worldDay } from './commands.ts';
import { kafkaOnOtherCore } from './kafka-on-other-core.ts';
import type { Bench, Figures } from './versions.ts';

const partitions = 4;
/** Old timestamps would begin a segment with every batch, and have records compacted away meanwhile. */
const settings = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'segment.ms': String(2 ** 50) };
const commands = ['archive load', 'archive save', 'archive check'] as const;

/** `archive load` of a made-up log into a broker, `archive save` of it, and `archive check` of what was saved. */
export const archive: Bench = {
  options: { riders: '60000' },
  async prepare([version], { riders }, ended) {
    const { dir, broker } = await kafkaOnOtherCore(ended);
    const from = join(dir, 'archive');
    const sizes = ['--riders', riders!, '--rides', '1200', '--days', '60', '--rate', '0'];
    await runCommand(version!, ['simulate', '--around', worldDay, '--archive', from, ...sizes], {});
    await forAnyVersion(from);
    const to = join(dir, 'saved');
    return {
      title: `Archive of ${riders} riders`,
      rows: commands.flatMap((name) =>
        (['clock', 'CPU'] as const).map((of) => ({ name: `${name}, ${of}`, unit: 's' as const })),
      ),
      async measure(each) {
        await using kafka = new TestKafka(broker.brokers);
        await kafka.createTopics({ partitions, settings });
        // Topics of one partition do not show what their keys go by.
        const env = {
          KAFKA_BROKERS: broker.brokers,
          KAFKA_TOPIC_PREFIX: kafka.topicPrefix,
          KAFKA_PARTITIONER: 'murmur2',
        };
        const figures: Figures = {};
        for (const name of commands) {
          const args = [...name.split(' '), name === 'archive load' ? from : to];
          const { seconds, cpuSeconds } = await runCommand(each, args, env);
          Object.assign(figures, { [`${name}, clock`]: seconds, [`${name}, CPU`]: cpuSeconds });
        }
        await rm(to, { recursive: true });
        return figures;
      },
    };
  },
};
