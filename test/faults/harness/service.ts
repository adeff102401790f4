import { setTimeout as sleep } from 'node:timers/promises';
import type { Env, Processes, RunningService } from '../../support/processes/process.ts';
import type { EventOf, HistoryWriter } from '../history.ts';

const restartDelayMs = 1_000;
const readyMsMax = 120_000;

type Asked = NonNullable<EventOf<'ended'>['asked']>;
export type Service = ReturnType<typeof serviceAt>;

/** One of the service's processes, at a port of its own: `name` is its instance, `api-1`. One that ends unasked is started again. */
export function serviceAt(name: string, env: Env & { PORT: string }, processes: Processes, history: HistoryWriter) {
  let starts = 0;
  let running: RunningService | null = null;
  let asked: Asked | null = null;
  let isOver = false;

  /** The process there is, or was last: `api-1`, then `api-1+1`. */
  const current = (): string => (starts < 2 ? name : `${name}+${starts - 1}`);

  async function start(): Promise<void> {
    if (running) return;
    asked = null;
    starts++;
    const process = current();
    running = await processes.start(name.split('-')[0]!, env);
    void running.ended.then(async ({ code }) => {
      running = null;
      history.add('ended', { process, code, asked });
      if (asked !== null) return;
      await sleep(restartDelayMs);
      if (!isOver) await start();
    });
  }

  /** Status 0 where no whole answer came. */
  async function get(path: string, headers: Record<string, string> = {}, timeoutMs = 2_000) {
    try {
      const asking = { headers: { ...headers, 'Accept-Encoding': 'identity' }, signal: AbortSignal.timeout(timeoutMs) };
      const response = await fetch(`http://127.0.0.1:${env.PORT}${path}`, asking);
      return { status: response.status, etag: response.headers.get('etag'), body: await response.text() };
    } catch {
      return { status: 0, etag: null, body: '' };
    }
  }
  const isReady = async (): Promise<boolean> => (await get('/readyz')).status === 200;

  return {
    name,
    current,
    start,
    get,
    isReady,
    /** Resolves once /readyz answers 200, of this process or of those that follow it. */
    async ready(): Promise<void> {
      for (const endMs = performance.now() + readyMsMax; !(await isReady()); await sleep(200))
        if (performance.now() > endMs) throw new Error(`${current()} is not ready within ${readyMsMax} ms.`);
    },
    leads: async () => (await get('/metrics')).body.includes('ride_calendar_role{role="leader"} 1'),
    /** Ends it by a signal. It stays down until `start`. */
    async end(by: Asked): Promise<void> {
      asked = by;
      await (by === 'kill' ? running?.kill() : running?.stop());
    },
    signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
      if (running) process.kill(running.pid, signal);
    },
    /** No supervisor starts it again. */
    close(): void {
      isOver = true;
    },
  };
}
