import { setTimeout as sleep } from 'node:timers/promises';
import { redisLiveViews } from '../../infra/redis/views/stored-views.ts';
import type { LiveViews } from '../../projector/ports/live-views.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { runCommand, type Server } from './commands.ts';
import {
  anyChange,
  anyRsvp,
  type Change,
  nothingObserved,
  type Observed,
  probeChange,
  probes,
  sharedNowMs,
  startPublishing,
} from './live-chain.ts';
import { startPinned } from './pinned-process.ts';
import { sceneOf } from './scene.ts';
import { type Bench, type Figures, quantile, type Row } from './versions.ts';

const tickMs = 5;
// Each probe changes so often.
const probeEveryMs = 50;
const drainMsMax = 20_000;
// A projector is to follow so many with a third of a core.
const rsvpsPerSecond = 1_000;

/** From when a change is handed to the producer until it is read over HTTP, beside a bare consumer, librdkafka. Of the probes alone. */
export const freshness: Bench = {
  options: { rates: '100,1000', seconds: '20' },
  async prepare(_versions, options) {
    const rates = options.rates!.split(',').map(Number);
    const ms = Number(options.seconds) * 1_000;
    const phases = [
      ...rates.flatMap((rate) => [
        { name: `${rate} changes/s`, rate, repair: false, change: anyChange },
        { name: `${rate} changes/s in a repair`, rate, repair: true, change: anyChange },
      ]),
      { name: `${rsvpsPerSecond} RSVPs/s`, rate: rsvpsPerSecond, repair: false, change: anyRsvp },
    ];
    return {
      title: `Freshness: ${options.seconds} s each; a change is readable over HTTP, beside a bare consumer of the same changes`,
      rows: phases.flatMap(({ name }): Row[] => [
        ...quantiles.flatMap(([share]): Row[] => [
          { name: `${name}: librdkafka alone, ${share}`, unit: 'ms' },
          {
            name: `${name}: readable, ${share}`,
            unit: 'ms',
            to: `${name}: librdkafka alone, ${share}`,
            aim: name.endsWith('in a repair') ? '2' : '1.5',
          },
        ]),
        { name: `${name}: projector's CPU, of a second`, unit: 'ms' },
      ]),
      async measure(version) {
        await using round = new AsyncDisposableStack();
        // Nothing is kept to one core: Kafka, Redis, two services and the observer share both.
        const scene = sceneOf(round, null);
        const [{ brokers }, redis, dataDir] = await Promise.all([scene.broker(), scene.redis(), scene.folder()]);
        const env = { KAFKA_BROKERS: brokers, REDIS_URL: redis.url, DATA_DIR: dataDir };
        await runCommand(version, ['topics'], env);
        const { publish } = round.adopt(await startPublishing(brokers), (one) => one.close());
        const projector = await scene.start(version, 'projector', env, { core: null });
        const api = await scene.start(version, 'api', env, { core: null });
        const observer = round.adopt(await startPinned('freshness-observer.ts', [], null), (one) => one.end());
        const options = { url: redis.url, cluster: false, keyPrefix: 'ride-calendar:' };
        const live = round.adopt(await redisLiveViews(options), (one) => one.close());
        await observer.ask({ brokers, port: api.port });
        const bound = { publish, collect: () => observer.ask<Observed>('collect'), live, projector };
        await measured({ rate: 1_000, repair: false, change: anyChange }, 5_000, bound);
        const figures: Figures = {};
        for (const { name, ...phase } of phases) {
          const { alone, read, cpu } = await measured(phase, ms, bound);
          for (const [share, of] of quantiles) {
            figures[`${name}: librdkafka alone, ${share}`] = quantile(alone, of);
            figures[`${name}: readable, ${share}`] = quantile(read, of);
          }
          figures[`${name}: projector's CPU, of a second`] = 1_000 * cpu;
        }
        return figures;
      },
    };
  },
};

/** Changes a second, and whether all tags are compared meanwhile. */
type Phase = { rate: number; repair: boolean; change: () => Change };

const quantiles = [
  ['p50', 0.5],
  ['p99', 0.99],
] as const;

interface Bound {
  publish(changes: readonly Change[]): Promise<void>;
  collect(): Promise<Observed>;
  live: LiveViews;
  projector: Server;
}

/** By probe: its numbers, and when each was sent. */
type Sent = readonly Map<number, number>[];

let seq = 0;

/** Produces at a rate for some time, and waits until the last probes can be read. Of the projector: CPU seconds, a second. */
async function measured({ rate, repair, change }: Phase, ms: number, { publish, collect, live, projector }: Bound) {
  await collect();
  const sent: Sent = probes.map(() => new Map());
  const stop = new AbortController();
  const repairing = repair ? repairOver(live, stop.signal) : null;
  const startMs = sharedNowMs();
  const before = await projector.used();
  await produce(rate, ms, sent, change, publish);
  const after = await projector.used();
  const cpu = (after.cpuSeconds - before.cpuSeconds) / ((sharedNowMs() - startMs) / 1_000);
  stop.abort();
  await repairing;
  const observed = await drained(sent, collect);
  const latencies = (seen: readonly [number, number][][]) => probes.flatMap((_, i) => latenciesOf(sent[i]!, seen[i]!));
  return { cpu, alone: latencies(observed.alone), read: latencies(observed.read) };
}

async function produce(rate: number, ms: number, sent: Sent, change: () => Change, publish: Bound['publish']) {
  const startMs = sharedNowMs();
  const under: Promise<void>[] = [];
  let [produced, probed] = [0, 0];
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs = sharedNowMs() - startMs) {
    const changes = [];
    for (; probed * (probeEveryMs / probes.length) <= elapsedMs; probed++) {
      const probe = probed % probes.length;
      sent[probe]!.set(++seq, sharedNowMs());
      changes.push(probeChange(probe, seq));
    }
    const due = Math.floor((elapsedMs * rate) / 1_000) - produced;
    while (changes.length < due) changes.push(change());
    produced += changes.length;
    if (changes.length > 0) under.push(publish(changes));
    await sleep(tickMs);
  }
  await Promise.all(under);
}

async function drained(sent: Sent, collect: Bound['collect']): Promise<Observed> {
  const all = nothingObserved();
  for (const untilMs = sharedNowMs() + drainMsMax; ; await sleep(200)) {
    const more = await collect();
    for (const who of ['alone', 'read'] as const) {
      for (const i of probes.keys()) all[who][i]!.push(...more[who][i]!);
    }
    const isDone = (seen: readonly [number, number][][]) =>
      probes.every((_, i) => (seen[i]!.at(-1)?.[0] ?? 0) >= Math.max(...sent[i]!.keys()));
    if (Object.values(all).every(isDone)) return all;
    if (sharedNowMs() > untilMs) throw new Error('Cannot measure: the last changes did not arrive within 20 s');
  }
}

/** Has the leader compare all tags, whole, over and over. */
async function repairOver(live: LiveViews, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await live.askCompare(allTags);
    const isAsked = async () => (await live.notes(allTags)).some(({ compare }) => compare);
    while (!signal.aborted && (await isAsked())) await sleep(100);
  }
}

/** A change counts as there once it, or a later one of the same ride, is. */
function latenciesOf(sent: ReadonlyMap<number, number>, seen: readonly [number, number][]): number[] {
  let at = 0;
  return [...sent].flatMap(([seq, sentMs]) => {
    while (at < seen.length && seen[at]![0] < seq) at++;
    return at < seen.length ? [seen[at]![1] - sentMs] : [];
  });
}
