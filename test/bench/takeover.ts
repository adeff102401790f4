import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningService } from '../support/process.ts';
import { LiveChain, probeChange, sharedNowMs } from './live-chain.ts';
import { ProbeReader } from './probe-reader.ts';
import type { Bench, Figures } from './versions.ts';

const probeEveryMs = 20;
const settleMs = 2_000;
const takeOverMsMax = 60_000;
const ways = [
  { name: 'kill -9', end: (leader: RunningService) => leader.kill(), aim: '4 s' },
  { name: 'SIGTERM', end: (leader: RunningService) => leader.stop(), aim: '1 s' },
] as const;

/** From when a leader is ended until a change that was produced after that can be read over HTTP, with a standby there. */
export const takeover: Bench = {
  async prepare() {
    return {
      title: 'Take-over',
      rows: ways.map(({ name, aim }) => ({ name, unit: 's', aim })),
      async measure(version) {
        await using chain = await LiveChain.start(version);
        let leader = await (await chain.projector()).ready(120_000);
        let standby = await (await chain.projector()).ready(120_000);
        const api = await (await chain.api()).ready(60_000);
        using prober = new Prober(chain, Number(new URL(api.origin).port));
        const figures: Figures = {};
        for (const { name, end } of ways) {
          await sleep(settleMs);
          const readable = prober.readableAgain();
          await Promise.all([readable, end(leader)]);
          figures[name] = (await readable) / 1_000;
          if (/Compared /.test(standby.out() + standby.err())) console.log(`${name}: the new leader compared views`);
          [leader, standby] = [standby, await (await chain.projector()).ready(120_000)];
        }
        return figures;
      },
    };
  },
};

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

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#reader.end();
  }
}
