import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestKafka } from '../support/servers/kafka.ts';
import { runCommand } from './commands.ts';
import { kafkaOnOtherCore } from './kafka-on-other-core.ts';
import type { Bench } from './versions.ts';

const rsvp = (i: number): string => {
  const [ride, day, rider] = [`ride${i % 500}`, `2026-11-${String(1 + (i % 28)).padStart(2, '0')}`, `u_${i}`];
  const value = { ride, day, rider, response: 'GOING', saved: false, revision: i, changed_at: '2026-11-01T09:00:00Z' };
  return `${JSON.stringify({ topic: 'attendance', key: `${ride}/${day}/${rider}`, value })}\n`;
};

/** `records publish` of a file of RSVPs into a broker: the process's own CPU time, without what it takes to start. */
export const publish: Bench = {
  options: { rsvps: '500000' },
  async prepare(_, { rsvps }, ended) {
    const { dir, broker } = await kafkaOnOtherCore(ended);
    const [large, small] = [join(dir, 'large.jsonl'), join(dir, 'small.jsonl')];
    const file = createWriteStream(large);
    for (let i = 0; i < Number(rsvps); i++) if (!file.write(rsvp(i))) await once(file, 'drain');
    file.end();
    await once(file, 'close');
    await writeFile(small, rsvp(0));
    return {
      title: `records publish of ${rsvps} RSVPs`,
      rows: [{ name: 'CPU of an RSVP, checked twice', unit: 'µs', aim: '20' }],
      async measure(each) {
        await using kafka = new TestKafka(broker.brokers);
        await kafka.createTopics({ partitions: 4 });
        const env = { KAFKA_BROKERS: broker.brokers, KAFKA_TOPIC_PREFIX: kafka.topicPrefix };
        const start = await runCommand(each, ['records', 'publish', small], env);
        const { cpuSeconds } = await runCommand(each, ['records', 'publish', large], env);
        return { 'CPU of an RSVP, checked twice': ((cpuSeconds - start.cpuSeconds) * 1e6) / Number(rsvps) };
      },
    };
  },
};
