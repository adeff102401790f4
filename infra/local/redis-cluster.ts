import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from './free-port.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';

const run = promisify(execFile);

export interface RedisCluster {
  /** The URL of any node. Clients find the others. */
  url: string;
  /** Three masters without replicas. */
  nodes: RedisServer[];
  stop(): Promise<void>;
}

export interface RedisClusterOptions {
  /** TLS only. Key and certificate are PEM. */
  tls?: { key: string; cert: string };
  /** The password of the user `default`. */
  password?: string;
}

/** A Redis Cluster of three masters on this machine. Resolves once all of them answer `cluster_state:ok`. */
export async function startRedisCluster({ tls, password }: RedisClusterOptions = {}): Promise<RedisCluster> {
  const args = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'],
    ...(tls ? ['--tls-cluster', 'yes'] : []),
    ...(password ? ['--requirepass', password] : []),
  ];
  // To set the cluster up. No client has its address yet, so `--insecure` is safe.
  const cli = [...(tls ? ['--tls', '--insecure'] : []), ...(password ? ['-a', password, '--no-auth-warning'] : [])];
  const ports = await freePorts(3);
  const nodes = await Promise.all(ports.map((port) => startRedisServer({ port, args, ...(tls && { tls }) })));
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    await run('redis-cli', [...cli, '--cluster', 'create', ...addresses, '--cluster-replicas', '0', '--cluster-yes']);
    for (const port of ports) await untilClusterIsOk(port, cli);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: nodes[0]!.url, nodes, stop };
}

async function untilClusterIsOk(port: number, cli: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const { stdout } = await run('redis-cli', [...cli, '-p', String(port), 'cluster', 'info']);
    if (stdout.includes('cluster_state:ok')) return;
    await sleep(50);
  }
  throw new Error(`Cannot form a Redis Cluster: the node at port ${port} never said cluster_state:ok`);
}
