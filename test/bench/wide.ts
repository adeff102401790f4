import { parseArgs } from 'node:util';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { noMetrics } from '../../projector/ports/metrics.ts';
import { Projector } from '../../projector/projector.ts';
import { memoryEventLog } from './memory-event-log.ts';
import { table } from './statistics.ts';
import { type WideCase, wideCases } from './wide-world.ts';

// Nothing was written for so long: the change is readable everywhere.
const quietMs = 1_500;

/**
 * What one change of a wide thing costs a projector. A store's own work is measured elsewhere: its views are in memory here,
 * and the fields of followers, of which there are millions, nowhere.
 */
export async function benchWide(args: readonly string[] = []): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { followers: { type: 'string', default: '100000' } } });
  const rows: string[][] = [];
  for (const wide of wideCases(Number(values.followers))) rows.push(await measure(wide));
  console.log(
    'wide: one change; the longest turn of the event loop in CPU time, which other programs hardly lengthen. Of ten\n' +
      'changes of a kind the first, before V8 has compiled what renders so much, and the tenth; else the only one\n',
  );
  console.log(table(['', 'of the first', 'longest turn', 'all turns', 'views', 'bytes', 'rounds'], rows));
  console.log('The aim is 50 ms for the longest turn');
}

async function measure({ name, world, changes }: WideCase): Promise<string[]> {
  const log = memoryEventLog(world());
  const cost = { views: 0, bytes: 0, rounds: new Set<number>(), atMs: performance.now() };
  const written = (views: number, bytes: number): void => {
    cost.views += views;
    cost.bytes += bytes;
    if (views > 0) cost.atMs = performance.now();
  };
  const writer = new MemoryViewStore().writer();
  const commit: typeof writer.commit = (tag, writes, notes) => {
    if (writes.length > 0) cost.rounds.add(notes?.round ?? 0);
    return writer.commit(
      tag,
      writes.filter(({ kind }) => kind !== 'reader'),
      notes,
    );
  };
  const metrics = { ...noMetrics, written };
  const projector = new Projector({
    eventLog: log,
    writer: { ...writer, commit },
    rejects: null,
    log: silentLog,
    metrics,
  });
  const stop = new AbortController();
  const running = projector.run(stop.signal);
  while (!projector.ready) await new Promise((resolve) => setTimeout(resolve, 20));
  const longest: number[] = [];
  let turns = { longest: 0, all: 0 };
  for (const change of changes) {
    Object.assign(cost, { views: 0, bytes: 0, rounds: new Set(), atMs: performance.now() });
    log.publish(change);
    turns = await turnsUntil(() => performance.now() - cost.atMs > quietMs);
    longest.push(turns.longest);
  }
  stop.abort();
  await running;
  const ms = (micros: number): string => `${(micros / 1_000).toFixed(1)} ms`;
  const { views, bytes, rounds } = cost;
  const first = longest.length > 1 ? ms(longest[0]!) : '';
  return [name, first, ms(turns.longest), ms(turns.all), String(views), String(bytes), String(rounds.size)];
}

/** CPU time of the main thread between two turns of the event loop, in microseconds: the longest, and all of over 1 ms. */
async function turnsUntil(isOver: () => boolean): Promise<{ longest: number; all: number }> {
  const turns = { longest: 0, all: 0 };
  let last = cpuMicros();
  while (!isOver()) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = cpuMicros();
    turns.longest = Math.max(turns.longest, now - last);
    if (now - last > 1_000) turns.all += now - last;
    last = now;
  }
  return turns;
}

function cpuMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
