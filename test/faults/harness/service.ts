import { setTimeout as sleep } from 'node:timers/promises';
import type { Env, Processes, RunningService } from '../../support/processes/process.ts';
import type { HistoryWriter } from '../history.ts';

const restartDelayMs = 1_000;

/** One of the service's processes, at a port of its own. One that ends unasked is started again, as every supervisor does. */
export class Service {
  /** Its instance, such as `api-1`. */
  readonly name: string;
  readonly #env: Env & { PORT: string };
  readonly #history: HistoryWriter;
  readonly #processes: Processes;
  #starts = 0;
  #running: RunningService | null = null;
  #asked: 'kill' | 'stop' | null = null;
  #isOver = false;

  constructor(name: string, env: Env & { PORT: string }, processes: Processes, to: HistoryWriter) {
    this.name = name;
    this.#env = env;
    this.#processes = processes;
    this.#history = to;
  }

  /** The process there is, or was last: `api-1`, then `api-1+1`. */
  get process(): string {
    return this.#starts < 2 ? this.name : `${this.name}+${this.#starts - 1}`;
  }

  async start(): Promise<void> {
    if (this.#running) return;
    this.#asked = null;
    this.#starts++;
    const { process } = this;
    const running = await this.#processes.start(this.name.split('-')[0]!, this.#env);
    this.#running = running;
    this.#history.add({ type: 'process', process, state: 'started', code: null, asked: null });
    void running.ended.then(async ({ code }) => {
      this.#running = null;
      const asked = this.#asked;
      this.#history.add({ type: 'process', process, state: 'ended', code, asked });
      if (asked !== null) return;
      await sleep(restartDelayMs);
      if (!this.#isOver) await this.start();
    });
  }

  /** Resolves once /readyz answers 200, of this process or of those that follow it. */
  async ready(timeoutMs = 120_000): Promise<void> {
    for (const end = performance.now() + timeoutMs; ; await sleep(200)) {
      if (await this.isReady()) return;
      if (performance.now() > end) throw new Error(`${this.process} is not ready within ${timeoutMs} ms.`);
    }
  }

  async isReady(): Promise<boolean> {
    return (await this.get('/readyz')).status === 200;
  }

  async leads(): Promise<boolean> {
    return (await this.get('/metrics')).body.includes('ride_calendar_role{role="leader"} 1');
  }

  /** Status 0 where no whole answer came. */
  async get(path: string, headers: Record<string, string> = {}, timeoutMs = 2_000) {
    try {
      const asked = { ...headers, 'Accept-Encoding': 'identity' };
      const url = `http://127.0.0.1:${this.#env.PORT}${path}`;
      const response = await fetch(url, { headers: asked, signal: AbortSignal.timeout(timeoutMs) });
      return { status: response.status, etag: response.headers.get('etag'), body: await response.text() };
    } catch {
      return { status: 0, etag: null, body: '' };
    }
  }

  /** Ends it by a signal. It stays down until `start`. */
  async end(asked: 'kill' | 'stop'): Promise<void> {
    const running = this.#running;
    if (!running) return;
    this.#asked = asked;
    await (asked === 'kill' ? running.kill() : running.stop());
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#running) process.kill(this.#running.pid, signal);
  }

  /** No supervisor starts it again. */
  close(): void {
    this.#isOver = true;
  }
}
