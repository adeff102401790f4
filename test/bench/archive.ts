import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestKafka } from '../support/servers/kafka.ts';
import { forAnyVersion, runCommand, worldDay } from './commands.ts';
import { sceneOf } from './scene.ts';
import type { Bench, Figures } from './versions.ts';

/** Old timestamps would begin a segment with every batch, and have records compacted away meanwhile. */
const settings = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'segment.ms': String(2 ** 50) };
const commands = ['archive load', 'archive save', 'archive check'] as const;

/** Topics of their own, and the environment that names them. */
async function freshTopics(brokers: string, settings = {}) {
  const kafka = new TestKafka(brokers);
  await kafka.createTopics({ partitions: 4, settings });
  const env = { KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: kafka.topicPrefix };
  return { env, [Symbol.asyncDispose]: () => kafka[Symbol.asyncDispose]() };
}

/** `archive load` of a made-up log into a broker, `archive save` of it, and `archive check` of what was saved. */
export const archive: Bench = {
  options: { riders: '60000' },
  async prepare([version], { riders }, ended) {
    const scene = sceneOf(ended);
    const [{ brokers }, dir] = await Promise.all([scene.broker(), scene.folder()]);
    const [from, to] = [join(dir, 'archive'), join(dir, 'saved')];
    const sizes = ['--riders', riders!, '--rides', '1200', '--days', '60', '--rate', '0'];
    await runCommand(version!, ['simulate', '--around', worldDay, '--archive', from, ...sizes], {});
    await forAnyVersion(from);
    return {
      title: `Archive of ${riders} riders`,
      rows: commands.flatMap((name) =>
        (['clock', 'CPU'] as const).map((of) => ({ name: `${name}, ${of}`, unit: 's' as const })),
      ),
      async measure(each) {
        await using topics = await freshTopics(brokers, settings);
        // Topics of one partition do not show what their keys go by.
        const env = { ...topics.env, KAFKA_PARTITIONER: 'murmur2' };
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

const rsvps = 500_000;
const rsvp = (i: number): string => {
  const [ride, day, rider] = [`ride${i % 500}`, `2026-11-${String(1 + (i % 28)).padStart(2, '0')}`, `u_${i}`];
  const value = { ride, day, rider, response: 'GOING', saved: false, revision: i, changed_at: '2026-11-01T09:00:00Z' };
  return `${JSON.stringify({ topic: 'attendance', key: `${ride}/${day}/${rider}`, value })}\n`;
};

/** `records publish` of a file of RSVPs into a broker: the process's own CPU time, without what it takes to start. */
export const publish: Bench = {
  async prepare(_versions, _options, ended) {
    const scene = sceneOf(ended);
    const [{ brokers }, dir] = await Promise.all([scene.broker(), scene.folder()]);
    const [large, small] = [join(dir, 'large.jsonl'), join(dir, 'small.jsonl')];
    await writeFile(
      large,
      Array.from({ length: rsvps }, (_, i) => rsvp(i)),
    );
    await writeFile(small, rsvp(0));
    return {
      title: `records publish of ${rsvps} RSVPs`,
      rows: [{ name: 'CPU of an RSVP, checked twice', unit: 'µs', aim: '20' }],
      async measure(each) {
        await using topics = await freshTopics(brokers);
        const start = await runCommand(each, ['records', 'publish', small], topics.env);
        const { cpuSeconds } = await runCommand(each, ['records', 'publish', large], topics.env);
        return { 'CPU of an RSVP, checked twice': ((cpuSeconds - start.cpuSeconds) * 1e6) / rsvps };
      },
    };
  },
};
