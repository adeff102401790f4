import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { redisLiveViews } from '../../infra/redis/redis-stored-views.ts';
import type { LiveViews } from '../../projector/ports/live-views.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import type { Observed } from './freshness-observer.ts';
import { anyChange, anyRsvp, LiveChain, probeChange, probes, sharedNowMs } from './live-chain.ts';
import { startPinned } from './pinned-process.ts';
import { quantile, table } from './statistics.ts';

const tickMs = 5;
// Each probe changes so often.
const probeEveryMs = 50;
const drainMsMax = 20_000;
// A projector is to follow so many with a third of a core.
const rsvpsPerSecond = 1_000;

/**
 * From when a change is handed to the producer until it can be read over HTTP, and until a bare consumer has it, of the
 * same changes. Quantiles of the probes' changes, which are few among all.
 */
export async function benchFreshness(args: readonly string[] = []): Promise<void> {
  const { rates, seconds } = options(args);
  const chain = await LiveChain.start();
  // Not kept to one core: Kafka, Redis, two services and the observer share both.
  const observer = await startPinned('freshness-observer.ts', [], null);
  const live = await redisLiveViews({ url: chain.redis.url, cluster: false, keyPrefix: 'ride-calendar:' });
  try {
    const projector = await (await chain.projector()).ready(120_000);
    const api = await (await chain.api()).ready(60_000);
    await observer.ask({ brokers: chain.broker.brokers, port: Number(new URL(api.origin).port) });
    const pids = { Kafka: chain.broker.pid, projector: projector.pid, Redis: chain.redis.pid, API: api.pid };
    const bench = new Freshness(chain, () => observer.ask<Observed>('collect'), live, pids);
    await bench.phase(1_000, 5_000, false);
    const rows: string[][] = [];
    const cpuRows: string[][] = [];
    for (const rate of rates) {
      const alone = await bench.phase(rate, seconds * 1_000, false);
      const repairing = await bench.phase(rate, seconds * 1_000, true);
      rows.push(row('alone', rate, alone), row('during a repair', rate, repairing, alone));
      cpuRows.push(cpuRow('alone', rate, alone), cpuRow('during a repair', rate, repairing));
    }
    const rsvps = await bench.phase(rsvpsPerSecond, seconds * 1_000, false, anyRsvp);
    rows.push(row('RSVPs only', rsvpsPerSecond, rsvps));
    cpuRows.push(cpuRow('RSVPs only', rsvpsPerSecond, rsvps));
    console.log(
      `Freshness: ${seconds} s each; a change is readable over HTTP, beside a bare consumer of the same changes`,
    );
    const head = [
      '',
      'changes/s',
      'probes',
      'Kafka p50',
      'p99',
      'readable p50',
      'p99',
      'ratio p50',
      'p99',
      'p99 to alone',
    ];
    console.log(table(head, rows));
    console.log('\nCPU seconds a second');
    console.log(table(['', 'changes/s', ...Object.keys(pids)], cpuRows));
  } finally {
    await live.close();
    await observer.end();
    await chain.end();
  }
}

function options(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: { rates: { type: 'string', default: '100,1000,5000' }, seconds: { type: 'string', default: '20' } },
  });
  return { rates: values.rates.split(',').map(Number), seconds: Number(values.seconds) };
}

interface Latencies {
  perSecond: number;
  kafka: number[];
  read: number[];
  repairs: number;
  /** CPU seconds a second, by process. */
  cpu: number[];
}

class Freshness {
  readonly #chain: LiveChain;
  readonly #collect: () => Promise<Observed>;
  readonly #live: LiveViews;
  readonly #pids: readonly number[];
  #seq = 0;

  constructor(chain: LiveChain, collect: () => Promise<Observed>, live: LiveViews, pids: Record<string, number>) {
    this.#chain = chain;
    this.#collect = collect;
    this.#live = live;
    this.#pids = Object.values(pids);
  }

  /** Produces at a rate for some time, and waits until the last probes can be read. */
  async phase(rate: number, ms: number, repair: boolean, change = anyChange): Promise<Latencies> {
    await this.#collect();
    const sent = probes.map(() => new Map<number, number>());
    const stop = new AbortController();
    const repairing = repair ? this.#repairOver(stop.signal) : Promise.resolve(0);
    const startMs = sharedNowMs();
    const before = this.#pids.map(cpuSeconds);
    const produced = await this.#produce(rate, ms, sent, change);
    const seconds = (sharedNowMs() - startMs) / 1_000;
    const perSecond = produced / seconds;
    const cpu = this.#pids.map((pid, i) => (cpuSeconds(pid) - before[i]!) / seconds);
    stop.abort();
    const repairs = await repairing;
    const observed = await this.#drained(sent);
    const latencies = (seen: readonly [number, number][][]) =>
      probes.flatMap((_, i) => latenciesOf(sent[i]!, seen[i]!));
    return { perSecond, repairs, cpu, kafka: latencies(observed.consumed), read: latencies(observed.read) };
  }

  async #produce(
    rate: number,
    ms: number,
    sent: readonly Map<number, number>[],
    change: typeof anyChange,
  ): Promise<number> {
    const startMs = sharedNowMs();
    const under: Set<Promise<void>> = new Set();
    let [produced, probed] = [0, 0];
    for (let elapsedMs = 0; elapsedMs < ms; elapsedMs = sharedNowMs() - startMs) {
      const changes = [];
      const isDue = (): boolean => probed * (probeEveryMs / probes.length) <= elapsedMs;
      for (; isDue(); probed++) {
        const seq = ++this.#seq;
        const probe = probed % probes.length;
        sent[probe]!.set(seq, sharedNowMs());
        changes.push(probeChange(probe, seq));
      }
      const due = Math.floor((elapsedMs * rate) / 1_000) - produced;
      while (changes.length < due) changes.push(change());
      produced += changes.length;
      if (changes.length > 0) {
        const sending = this.#chain.publish(changes).finally(() => under.delete(sending));
        under.add(sending);
      }
      await sleep(tickMs);
    }
    await Promise.all(under);
    return produced;
  }

  async #drained(sent: readonly Map<number, number>[]): Promise<Observed> {
    const all: Observed = { consumed: probes.map(() => []), read: probes.map(() => []) };
    for (const untilMs = sharedNowMs() + drainMsMax; ; await sleep(200)) {
      const more = await this.#collect();
      for (const i of probes.keys()) {
        all.consumed[i]!.push(...more.consumed[i]!);
        all.read[i]!.push(...more.read[i]!);
      }
      const isDone = (seen: readonly [number, number][][]) =>
        probes.every((_, i) => (seen[i]!.at(-1)?.[0] ?? 0) >= Math.max(...sent[i]!.keys()));
      if (isDone(all.consumed) && isDone(all.read)) return all;
      if (sharedNowMs() > untilMs) throw new Error('Cannot measure: the last changes did not arrive within 20 s');
    }
  }

  /** Has the leader compare all tags, whole, over and over. Returns how often it was through. */
  async #repairOver(signal: AbortSignal): Promise<number> {
    for (let repairs = 0; ; repairs++) {
      await this.#live.askCompare(allTags);
      while ((await this.#live.notes(allTags)).some(({ compare }) => compare)) {
        await sleep(100);
        if (signal.aborted) return repairs;
      }
      if (signal.aborted) return repairs + 1;
    }
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

/** Of a process, by Linux's own account, in ticks of 10 ms. */
function cpuSeconds(pid: number): number {
  const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields!.split(' ').slice(11, 13).map(Number);
  return (user! + system!) / 100;
}

const cpuRow = (what: string, rate: number, { cpu }: Latencies): string[] => [
  what,
  String(rate),
  ...cpu.map((one) => one.toFixed(2)),
];

function row(what: string, rate: number, { kafka, read, perSecond, repairs }: Latencies, alone?: Latencies): string[] {
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  const ratio = (share: number): string => (quantile(read, share) / quantile(kafka, share)).toFixed(2);
  return [
    alone ? `${what} (${repairs} through)` : what,
    `${rate} (${perSecond.toFixed(0)})`,
    String(read.length),
    ...[0.5, 0.99].map((share) => ms(quantile(kafka, share))),
    ...[0.5, 0.99].map((share) => ms(quantile(read, share))),
    ...[0.5, 0.99].map(ratio),
    alone ? (quantile(read, 0.99) / quantile(alone.read, 0.99)).toFixed(2) : '',
  ];
}
