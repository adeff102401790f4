import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RunningService } from '../support/process.ts';
import { LiveChain, probeChange, sharedNowMs } from './live-chain.ts';
import { ProbeReader } from './probe-reader.ts';
import { median, table } from './statistics.ts';

const probeEveryMs = 20;
const settleMs = 2_000;
const takeOverMsMax = 60_000;
const ways = [
  { name: 'kill -9', end: (leader: RunningService) => leader.kill(), aimSeconds: 4 },
  { name: 'SIGTERM', end: (leader: RunningService) => leader.stop(), aimSeconds: 1 },
] as const;

/** From when a leader is ended until a change that was produced after that can be read over HTTP, with a standby there. */
export async function benchTakeover(args: readonly string[] = []): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { times: { type: 'string', default: '10' } } });
  const times = Number(values.times);
  const chain = await LiveChain.start();
  try {
    let leader = await (await chain.projector()).ready(120_000);
    let standby = await (await chain.projector()).ready(120_000);
    const api = await (await chain.api()).ready(60_000);
    const prober = new Prober(chain, Number(new URL(api.origin).port));
    const rows: string[][] = [];
    const successors: RunningService[] = [];
    for (const { name, end, aimSeconds } of ways) {
      const seconds: number[] = [];
      for (let i = 0; i < times; i++) {
        await sleep(settleMs);
        const readable = prober.readableAgain();
        await Promise.all([readable, end(leader)]);
        seconds.push((await readable) / 1_000);
        successors.push(standby);
        [leader, standby] = [standby, await (await chain.projector()).ready(120_000)];
      }
      const sorted = seconds.toSorted((a, b) => a - b);
      const [least, most] = [sorted[0]!, sorted.at(-1)!].map((one) => `${one.toFixed(2)} s`);
      rows.push([name, String(times), `${median(seconds).toFixed(2)} s`, least!, most!, `${aimSeconds} s`]);
    }
    prober.end();
    const compares = successors.filter(({ out, err }) => (out() + err()).includes('Compared ')).length;
    console.log(`Take-over: ${compares} of ${successors.length} new leaders compared views`);
    console.log(table(['', 'times', 'median', 'least', 'most', 'aim'], rows));
  } finally {
    await chain.end();
  }
}

/** Changes a ride all the while, and reads it. */
class Prober {
  readonly #chain: LiveChain;
  readonly #reader: ProbeReader;
  readonly #sentMs = [0];
  readonly #timer: NodeJS.Timeout;
  #onRead: (seq: number, atMs: number) => void = () => {};

  constructor(chain: LiveChain, port: number) {
    this.#chain = chain;
    this.#reader = new ProbeReader(port, 0, (seq, atMs) => this.#onRead(seq, atMs));
    this.#timer = setInterval(() => {
      const seq = this.#sentMs.push(sharedNowMs()) - 1;
      void this.#chain.publish([probeChange(0, seq)]);
    }, probeEveryMs);
  }

  /** Milliseconds from now until a change that is produced after now can be read. */
  readableAgain(): Promise<number> {
    const nowMs = sharedNowMs();
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error('Cannot measure: no change was readable for 60 s')),
        takeOverMsMax,
      );
      this.#onRead = (seq, atMs) => {
        if (this.#sentMs[seq]! <= nowMs) return;
        clearTimeout(late);
        resolve(atMs - nowMs);
      };
    });
  }

  end(): void {
    clearInterval(this.#timer);
    this.#reader.end();
  }
}
