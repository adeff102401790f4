import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, startServer } from './commands.ts';
import type { LoopTurns } from './cpu-report.ts';
import { LiveChain } from './live-chain.ts';
import type { Bench, Figures, Row } from './versions.ts';
import { type WideCase, wideCases } from './wide-world.ts';

// Nothing was written for so long: the change is readable everywhere.
const quietMs = 1_500;
const lookMs = 250;

/** What one change of a wide thing costs a projector, over Kafka and Redis. */
export const wide: Bench = {
  options: { followers: '100000' },
  async prepare(_versions, { followers }) {
    const cases = wideCases(Number(followers));
    return {
      title:
        'Wide: one change; CPU time of the main thread in turns of the event loop. The last of ten, where a kind has ten',
      rows: cases.flatMap(({ name }): Row[] => [
        { name: `${name}: longest turn of the first`, unit: 'ms', aim: '50 ms' },
        { name: `${name}: longest turn of the last`, unit: 'ms', aim: '50 ms' },
        { name: `${name}: all turns over 1 ms`, unit: 'ms' },
      ]),
      async measure(version) {
        const figures: Figures = {};
        for (const one of cases) {
          await using chain = await LiveChain.start(version, one.world());
          const projector = await startServer(version, 'projector', chain.env);
          try {
            const turns = await turnsOf(one, chain, projector);
            figures[`${one.name}: longest turn of the first`] = turns[0]!.longest;
            figures[`${one.name}: longest turn of the last`] = turns.at(-1)!.longest;
            figures[`${one.name}: all turns over 1 ms`] = turns.at(-1)!.all;
          } finally {
            await projector.end();
          }
        }
        return figures;
      },
    };
  },
};

async function turnsOf({ changes }: WideCase, chain: LiveChain, projector: Server): Promise<LoopTurns[]> {
  const turns: LoopTurns[] = [];
  for (const change of changes) {
    const before = await bytesWritten(projector);
    await projector.ask('watchTurns');
    await chain.publish([change]);
    let [written, sinceMs] = [before, performance.now()];
    while (written === before || performance.now() - sinceMs < quietMs) {
      await sleep(lookMs);
      const now = await bytesWritten(projector);
      if (now !== written) [written, sinceMs] = [now, performance.now()];
    }
    turns.push(await projector.ask<LoopTurns>('turns'));
  }
  return turns;
}

async function bytesWritten({ port }: Server): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^ride_calendar_written_bytes_total (\d+)/m.exec(metrics)?.[1]);
}
