import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pythonWith } from '../support/servers/python-package.ts';
import { developerKey, nothingObserved, probes, sharedNowMs } from './live-chain.ts';

/** Watches the probes from a process of its own. */
let observed = nothingObserved();
const topics = ['rides', 'attendance'].map((name) => `ride-calendar.${name}`);

/** A process of its own, which ends with this one. */
async function consumeByLibrdkafka(brokers: string): Promise<void> {
  const python = path.join(await pythonWith('confluent-kafka', '2.16.1'), 'python');
  const script = path.join(import.meta.dirname, 'librdkafka-consumer.py');
  const consumer = spawn(python, [script, brokers, ...topics], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => consumer.kill());
  const lines = createInterface(consumer.stdout);
  await once(lines, 'line');
  lines.on('line', (line) => {
    const [key, seq, atMs] = line.split(' ');
    observed.alone[probes.indexOf(key as 'probe0')]!.push([Number(seq), Number(atMs)]);
  });
}

/** Reads a probe's ride over HTTP, again and again, and notes when it first had which number. */
async function read(port: number, probe: number): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const options = { port, path: `/api/rides/${probes[probe]}`, headers: { 'X-Api-Key': developerKey }, agent };
  for (let last = -1; ; await sleep(1)) {
    const body = await new Promise<string>((resolve, reject) => {
      get(options, (response) => resolve(text(response))).on('error', reject);
    });
    const seq = Number(/"title":"Probe (\d+)"/.exec(body)?.[1] ?? -1);
    if (seq > last) observed.read[probe]!.push([seq, sharedNowMs()]);
    last = Math.max(last, seq);
  }
}

process.on('message', async (message: { brokers: string; port: number } | 'collect') => {
  if (message === 'collect') {
    process.send!(observed);
    observed = nothingObserved();
    return;
  }
  await consumeByLibrdkafka(message.brokers);
  for (const i of probes.keys()) void read(message.port, i);
  process.send!('watching');
});
process.on('SIGTERM', () => process.exit());
