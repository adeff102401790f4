import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from '../../../infra/local/free-port.ts';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';

const run = promisify(execFile);
const masters = 3;

export interface RedisCluster {
  /** The URL of any node. Clients find the others. */
  url: string;
  /** Three masters. */
  nodes: RedisServer[];
  /** The replica of each master, in the same order; empty without `replicas`. */
  replicas: RedisServer[];
  stop(): Promise<void>;
}

interface RedisClusterOptions {
  /** TLS only. Key and certificate are PEM. */
  tls?: { key: string; cert: string };
  /** Gives each master a replica. */
  replicas?: boolean;
  /** The password of the user `default`. */
  password?: string;
}

/** A Redis Cluster of three masters on this machine. Resolves once all of them answer `cluster_state:ok`. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { tls, password, replicas: withReplicas = false } = options;
  const args = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--cluster-replica-validity-factor', '0'],
    ...(tls ? ['--tls-cluster', 'yes'] : []),
    ...(password ? ['--requirepass', password] : []),
  ];
  // To set the cluster up. No client has its address yet, so `--insecure` is safe.
  const cli = [...(tls ? ['--tls', '--insecure'] : []), ...(password ? ['-a', password, '--no-auth-warning'] : [])];
  const ports = await freePorts(withReplicas ? 2 * masters : masters);
  const servers = await Promise.all(ports.map((port) => startRedisServer({ port, args, ...(tls && { tls }) })));
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    const perMaster = withReplicas ? '1' : '0';
    const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', perMaster, '--cluster-yes'];
    await run('redis-cli', [...cli, ...create]);
    for (const port of ports)
      await untilSaid(
        port,
        cli,
        'cluster info',
        'said cluster_state:ok',
        (said) => /cluster_state:ok/.exec(said) ?? undefined,
      );
    const nodes = servers.slice(0, masters);
    // A replica is online once it has its master's data.
    const replicaOf = ({ port }: RedisServer) =>
      untilSaid(port, cli, 'info replication', 'had a replica', (said) => {
        const replicaPort = /^slave0:ip=[^,]+,port=(\d+),state=online/m.exec(said)?.[1];
        return servers.find((server) => String(server.port) === replicaPort);
      });
    const replicas = withReplicas ? await Promise.all(nodes.map(replicaOf)) : [];
    return { url: nodes[0]!.url, nodes, replicas, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Asks a node until what it says has what is looked for. `what` follows "never". */
async function untilSaid<T>(
  port: number,
  cli: readonly string[],
  command: string,
  what: string,
  find: (said: string) => T | undefined,
): Promise<T> {
  for (let tries = 0; tries < 200; tries++) {
    const { stdout } = await run('redis-cli', [...cli, '-p', String(port), ...command.split(' ')]);
    const found = find(stdout);
    if (found !== undefined) return found;
    await sleep(50);
  }
  throw new Error(`Cannot form a Redis Cluster: the node at port ${port} never ${what}`);
}
