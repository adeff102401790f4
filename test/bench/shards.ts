import { measuredCore, otherCore, pin, startPinned } from './pinned-process.ts';
import type { ShardMeasured, ShardSizes } from './shards-measure.ts';
import { median, table } from './statistics.ts';

const rounds = 3;
const logs: readonly { name: string; sizes: ShardSizes }[] = [
  { name: '20 relations a rider', sizes: { riders: 200_000, relations: 4_000_000, attendances: 500_000 } },
  { name: '5 relations a rider', sizes: { riders: 200_000, relations: 1_000_000, attendances: 500_000 } },
];
const divisions = [1, 2, 4];

/** Memory and CPU time that one of several shards needs for a log, as ratios to one projector that has all tags. */
export async function benchShards(): Promise<void> {
  pin(process.pid, otherCore);
  const rows: string[][] = [];
  for (const { name, sizes } of logs) {
    const byDivision = new Map<number, ShardMeasured[]>(divisions.map((count) => [count, []]));
    for (let round = 0; round < rounds; round++) {
      for (const count of divisions) byDivision.get(count)!.push(await measureShard(round % count, count, sizes));
    }
    const figure = (count: number, of: (one: ShardMeasured) => number) => median(byDivision.get(count)!.map(of));
    for (const count of divisions) {
      const bytes = figure(count, (one) => one.bytes);
      const cpu = figure(count, (one) => one.cpuSeconds);
      rows.push([
        name,
        String(count),
        `${(figure(count, ({ records }) => records) / 1e6).toFixed(1)}M`,
        `${(bytes / 1e6).toFixed(0)} MB`,
        (bytes / figure(1, (one) => one.bytes)).toFixed(2),
        `${cpu.toFixed(2)} s`,
        (cpu / figure(1, (one) => one.cpuSeconds)).toFixed(2),
      ]);
    }
  }
  console.log(`One shard of several: ${rounds} alternating rounds, medians`);
  console.log(table(['log', 'shards', 'records', 'memory', 'ratio', 'CPU', 'ratio'], rows));
}

async function measureShard(index: number, count: number, sizes: ShardSizes): Promise<ShardMeasured> {
  const process = await startPinned('shards-measure.ts', [], measuredCore, ['--expose-gc']);
  try {
    return await process.ask<ShardMeasured>({ index, count, sizes });
  } finally {
    await process.end();
  }
}
