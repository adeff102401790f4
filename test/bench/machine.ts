import { spawnSync } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';

/** What the figures were measured on: they mean nothing without it. */
export function machine(): string {
  const redis = spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout?.match(/v=(\S+)/)?.[1];
  return [
    `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `Node ${process.versions.node}`,
    redis ? `Redis ${redis}` : 'no Redis',
    `${process.platform} ${process.arch}`,
  ].join(' · ');
}
