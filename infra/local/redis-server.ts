import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needCommand } from './debian-packages.ts';
import { freePorts } from './free-port.ts';
import { type LocalProcess, startLocalProcess } from './local-process.ts';
import { untilAnswers } from './until-answers.ts';

export interface RedisServer {
  /** `redis://127.0.0.1:<port>` */
  url: string;
  port: number;
  pid: number;
  /** SIGKILL, as a crash: the data folder stays, for `start`. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  start(): Promise<void>;
  /** Stops it for good and removes its data. */
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** Default: a free one. */
  port?: number;
  /** `aof`: every acknowledged write survives a crash; `none` (default): a restart finds it empty. */
  persistence?: 'none' | 'aof';
  /** More of redis-server's own options, such as `['--maxmemory', '10mb']`. */
  args?: readonly string[];
}

/** A Redis of one's own on this machine, with `maxmemory-policy noeviction` as the service demands. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  await needCommand('redis-server', 'redis-server');
  const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-redis-'));
  const port = options.port ?? (await freePorts(1))[0]!;
  let server: LocalProcess;
  const start = async () => {
    server = await startLocalProcess('redis-server', redisArgs(port, folder, options), {
      cwd: folder,
      temporaryFolders: [folder],
    });
    await untilAnswers('redis-server', port, server, 15_000);
  };
  try {
    await start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return server.pid;
    },
    kill: () => server.end('SIGKILL'),
    start,
    stop: async () => {
      await server.end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function redisArgs(port: number, folder: string, options: RedisServerOptions): string[] {
  const persistence =
    options.persistence === 'aof' ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  return [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    ...['--maxmemory-policy', 'noeviction', ...persistence, ...(options.args ?? [])],
  ];
}
