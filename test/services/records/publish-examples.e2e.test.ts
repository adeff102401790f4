import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { readLine } from '../../../services/records/json-lines/json-line.ts';
import { kafkaBrokers } from '../../support/servers/backends.ts';
import { TestKafka } from '../../support/servers/kafka.ts';
import { readTopic } from '../../support/servers/kafka-topic.ts';
import { pythonWith } from '../../support/servers/python-package.ts';

/** The producers of docs/publishing.md, which publishers copy. */

const docs = (file: string) => fileURLToPath(new URL(`../../../docs/${file}`, import.meta.url));
const lines = readFileSync(docs('example-records.jsonl'), 'utf8').trim().split('\n');
const tombstones = lines.map((line) => JSON.stringify({ ...JSON.parse(line), value: null }));

let commands: Record<string, [string, string]>;
beforeAll(async () => {
  const python = join(await pythonWith('fastavro', '1.13.1', 'confluent-kafka==2.16.1'), 'python');
  commands = {
    Node: [process.execPath, docs('publish-example.js')],
    Python: [python, docs('publish_example.py')],
  };
}, 600_000);

async function publish(language: string, prefix: string, input: readonly string[]) {
  const [program, file] = commands[language]!;
  const env = { ...process.env, KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: prefix };
  const child = spawn(program, [file], { env, stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.end(`${input.join('\n')}\n`);
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { code, err };
}

test.each(['Node', 'Python'])(
  'the producer in %s writes the bytes of the service’s own, each where it belongs',
  async (language) => {
    await using kafka = new TestKafka();
    const partitions = 4;
    await kafka.createTopics({ partitions });
    const all = [...lines, ...tombstones].map((line) => readLine(Buffer.from(line), 0));
    expect(await publish(language, kafka.topicPrefix, [...lines, ...tombstones])).toMatchObject({ code: 0 });
    for (const topic of topicNames) {
      const found = await readTopic(kafkaBrokers(), kafka.topicPrefix + topic);
      const published = all.filter((one) => one.topic === topic);
      const wanted = published.map(({ keyBytes: key, valueBytes: value }) => ({
        partition: murmur2Partition(key, partitions),
        key,
        value,
      }));
      expect(wanted.length).toBeGreaterThan(1);
      const byPartition = wanted.sort((a, b) => a.partition - b.partition);
      expect(found.map(({ partition, key, value }) => ({ partition, key, value }))).toEqual(byPartition);
    }
    const bad = lines.find((line) => line.includes('"nights"'))!.replace('"ON"', '"PERHAPS"');
    expect(await publish(language, kafka.topicPrefix, [bad])).not.toMatchObject({ code: 0 });
  },
);
