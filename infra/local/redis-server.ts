import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needProgram } from './debian-packages.ts';
import { freePorts } from './free-port.ts';
import { type LocalServer, startLocalServer } from './local-process.ts';

export interface RedisServer extends LocalServer {
  /** `redis://127.0.0.1:<port>`, or `rediss:` if it requires TLS. Without a user. */
  url: string;
  port: number;
}

interface RedisServerOptions {
  /** A free port by default. */
  port?: number;
  /** `aof`: every acknowledged write survives a crash. `none` (default): it is empty after a restart. */
  persistence?: 'none' | 'aof';
  /** TLS only. Key and certificate are PEM. */
  tls?: { key: string; cert: string };
  /** Further options of redis-server, such as `['--maxmemory', '10mb']`. */
  args?: readonly string[];
}

/** A Redis on this machine, with `maxmemory-policy noeviction` as the service requires. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  await needProgram('redis-server', 'redis-server');
  const { tls } = options;
  const port = options.port ?? (await freePorts(1))[0]!;
  return startLocalServer('redis', async (folder) => {
    if (tls) await writeFile(pemOf(folder), tls.key + tls.cert, { mode: 0o600 });
    const args = redisArgs(port, folder, options);
    const about = { url: `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`, port };
    // A server with data accepts connections before it has loaded the data.
    return { command: 'redis-server', args, up: 'Ready to accept connections', about };
  });
}

const pemOf = (folder: string): string => join(folder, 'server.pem');

function redisArgs(port: number, folder: string, options: RedisServerOptions): string[] {
  const persistence =
    options.persistence === 'aof' ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  const pem = pemOf(folder);
  const files = ['--tls-cert-file', pem, '--tls-key-file', pem, '--tls-ca-cert-file', pem];
  const listening = options.tls
    ? ['--port', '0', '--tls-port', String(port), ...files, '--tls-auth-clients', 'no']
    : ['--port', String(port)];
  return [
    ...[...listening, '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    ...['--maxmemory-policy', 'noeviction', ...persistence, ...(options.args ?? [])],
  ];
}
