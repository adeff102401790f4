import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from '../../../infra/local/free-port.ts';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';

const run = promisify(execFile);
const masters = 3;

interface RedisClusterOptions {
  /** TLS only. Key and certificate are PEM. */
  tls?: { key: string; cert: string };
  /** Gives each master a replica. */
  replicas?: boolean;
  /** The password of the user `default`. */
  password?: string;
}

export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

/** A Redis Cluster of three masters on this machine. Resolves once all of them answer `cluster_state:ok`. */
export async function startRedisCluster({ tls, password, replicas: withReplicas = false }: RedisClusterOptions = {}) {
  const args = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--cluster-replica-validity-factor', '0'],
    ...(tls ? ['--tls-cluster', 'yes'] : []),
    ...(password ? ['--requirepass', password] : []),
  ];
  const size = withReplicas ? 2 * masters : masters;
  // Redis's own choice of a bus port, 10,000 more than the port, may be a client's.
  const all = await freePorts(2 * size);
  const [ports, busPorts] = [all.slice(0, size), all.slice(size)];
  const servers = await Promise.all(
    ports.map((port, i) =>
      startRedisServer({ port, args: [...args, '--cluster-port', String(busPorts[i])], ...(tls && { tls }) }),
    ),
  );
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  // To set the cluster up. No client has its address yet, so `--insecure` is safe.
  const options = [...(tls ? ['--tls', '--insecure'] : []), ...(password ? ['-a', password, '--no-auth-warning'] : [])];
  const cli = async (...command: string[]) => (await run('redis-cli', [...options, ...command])).stdout;
  /** Asks a node until what it says has what is looked for. */
  const untilSaid = async <T>(port: number, command: string[], find: (said: string) => T | undefined): Promise<T> => {
    for (let tries = 0; tries < 200; tries++) {
      const found = find(await cli('-p', String(port), ...command));
      if (found) return found;
      await sleep(50);
    }
    throw new Error(`Cannot form a Redis Cluster: see "${command.join(' ')}" of the node at port ${port}`);
  };
  try {
    const addresses = ports.map((port, i) => `127.0.0.1:${port}@${busPorts[i]}`);
    await cli('--cluster', 'create', ...addresses, '--cluster-replicas', withReplicas ? '1' : '0', '--cluster-yes');
    for (const port of ports) await untilSaid(port, ['cluster', 'info'], (said) => said.includes('cluster_state:ok'));
    const nodes = servers.slice(0, masters);
    // A replica is online once it has its master's data.
    const replicaOf = ({ port }: RedisServer) =>
      untilSaid(port, ['info', 'replication'], (said) => {
        const replicaPort = /^slave0:ip=[^,]+,port=(\d+),state=online/m.exec(said)?.[1];
        return servers.find((server) => String(server.port) === replicaPort);
      });
    /** The replica of each master, in the same order; empty without `replicas`. */
    const replicas = withReplicas ? await Promise.all(nodes.map(replicaOf)) : [];
    // The URL of any node: clients find the others.
    return { url: nodes[0]!.url, nodes, replicas, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
