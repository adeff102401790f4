import { kafkaClient } from '../support/servers/kafka.ts';
import { probes, sharedNowMs } from './live-chain.ts';
import { ProbeReader } from './probe-reader.ts';

/**
 * Watches the probes from a process of its own: when a bare consumer has which change, and when it can be read over
 * HTTP.
 */
export interface Observed {
  /** By probe: numbers, and when each was first there. */
  consumed: [seq: number, atMs: number][][];
  read: [seq: number, atMs: number][][];
}

const none = (): [number, number][][] => probes.map(() => []);
let observed: Observed = { consumed: none(), read: none() };

async function consume(brokers: string): Promise<void> {
  const consumer = kafkaClient(brokers).consumer({ groupId: 'bare', maxWaitTimeInMs: 500, minBytes: 1 });
  await consumer.connect();
  const topics = ['rides', 'attendance'].map((name) => `ride-calendar.${name}`);
  await consumer.subscribe({ topics, fromBeginning: false });
  const joined = new Promise<void>((resolve) => {
    consumer.on(consumer.events.GROUP_JOIN, () => resolve());
  });
  await consumer.run({
    partitionsConsumedConcurrently: 4,
    eachBatch: async ({ batch }) => {
      const atMs = sharedNowMs();
      for (const { key, headers } of batch.messages) {
        const probe = headers?.seq ? probes.indexOf(key!.toString() as 'probe0') : -1;
        if (probe >= 0) observed.consumed[probe]!.push([Number(headers!.seq), atMs]);
      }
    },
  });
  await joined;
}

process.on('message', async (message: { brokers: string; port: number } | 'collect') => {
  if (message === 'collect') {
    process.send!(observed);
    observed = { consumed: none(), read: none() };
    return;
  }
  await consume(message.brokers);
  for (const i of probes.keys()) {
    new ProbeReader(message.port, i, (seq, atMs) => observed.read[i]!.push([seq, atMs]));
  }
  process.send!('watching');
});
process.on('SIGTERM', () => process.exit());
