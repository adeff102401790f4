import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needProgram } from './debian-packages.ts';
import { freePort } from './free-port.ts';
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
  const { tls, persistence = 'none', args = [] } = options;
  const port = options.port ?? (await freePort());
  const server = await startLocalServer('redis', async (folder) => {
    const pem = join(folder, 'server.pem');
    if (tls) await writeFile(pem, tls.key + tls.cert, { mode: 0o600 });
    const files = ['--tls-cert-file', pem, '--tls-key-file', pem, '--tls-ca-cert-file', pem];
    const listening = tls
      ? ['--port', '0', '--tls-port', String(port), ...files, '--tls-auth-clients', 'no']
      : ['--port', String(port)];
    const own = [
      ...[...listening, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--maxmemory-policy', 'noeviction'],
      ...(persistence === 'aof' ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']),
    ];
    // A server with data accepts connections before it has loaded the data.
    return { command: 'redis-server', args: [...own, ...args], up: 'Ready to accept connections' };
  });
  return Object.assign(server, { url: `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`, port });
}
