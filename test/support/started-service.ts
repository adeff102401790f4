import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../infra/local/free-port.ts';

export interface StartedService {
  origin: string;
  baseUrl: string;
  /** What it printed. */
  output: string;
  stop(): Promise<void>;
}

/** `npm start` as its own process: settings on top of the embedded defaults. Resolves once it serves. */
export async function startService(settings: Record<string, string> = {}): Promise<StartedService> {
  const port = settings.PORT ?? (await freePorts(1))[0];
  const dataDir = settings.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'ride-calendar-')));
  const command = fileURLToPath(new URL('../../services/ride-calendar.js', import.meta.url));
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    PORT: `${port}`,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'warn',
    // Else each stop of one with servers of its own takes five seconds.
    DRAIN_SECONDS: '0',
    ...settings,
  };
  const child = spawn(process.execPath, [command, 'start'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const service: StartedService = {
    origin: `http://127.0.0.1:${env.PORT}`,
    baseUrl: `http://127.0.0.1:${env.PORT}/api`,
    output: '',
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        child.kill('SIGTERM');
        await gone;
      }
      if (settings.DATA_DIR === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
  const serving = new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      service.output += chunk;
      if (service.output.includes('Ctrl-C')) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('exit', (code) => reject(new Error(`the service ended with ${code}: ${service.output}`)));
  });
  try {
    await serving;
  } catch (error) {
    await service.stop();
    throw error;
  }
  return service;
}
