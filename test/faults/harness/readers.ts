import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventOf } from '../history.ts';
import { type HistoryWriter, nowMs } from './history-writer.ts';
import { type AskedPath, askedPaths } from './probes.ts';
import type { Service } from './service.ts';

const timeoutMs = 10_000;
/** Between an answer and the next question of the same reader. */
const pauseMs = 700;

interface Reader {
  reader: string;
  service: Service;
  asked: AskedPath;
}

const readerOf = (api: string, path: number): string => `${api} ${path + 1}`;

/** The readers of these APIs, as a history's first line names them. */
export const readersOf = (apis: readonly string[]): EventOf<'begin'>['readers'] =>
  apis.flatMap((process) => askedPaths.map(({ path }, i) => ({ reader: readerOf(process, i), process, path })));

/** Each asks one API for one path, over and over. */
export class Readers {
  readonly #readers: Reader[];
  readonly #headersOf: (asked: AskedPath) => Record<string, string>;
  readonly #history: HistoryWriter;
  readonly #stopped = new AbortController();
  readonly #running: Promise<unknown>;
  /** What each reader was shown last. */
  readonly #shown = new Map<string, EventOf<'answer'>['shows']>();

  constructor(apis: readonly Service[], headersOf: (asked: AskedPath) => Record<string, string>, to: HistoryWriter) {
    this.#readers = apis.flatMap((service) =>
      askedPaths.map((asked, i) => ({ reader: readerOf(service.name, i), service, asked })),
    );
    this.#headersOf = headersOf;
    this.#history = to;
    this.#running = Promise.all(this.#readers.map((reader, i) => this.#run(reader, i)));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  /** Whether all whose path shows a probe were shown this version of it, or a later one. */
  haveSeen(probe: string, n: number): boolean {
    return this.#readers.every(({ reader, asked }) => {
      const shown = this.#shown.get(reader)?.[probe];
      return !asked.probes.includes(probe) || (typeof shown === 'number' && shown >= n);
    });
  }

  async #run({ reader, service, asked }: Reader, i: number): Promise<void> {
    const { path } = asked;
    await sleep((pauseMs * i) / this.#readers.length);
    while (!this.#stopped.signal.aborted) {
      const start = nowMs();
      const { process } = service;
      const { status, etag, body } = await service.get(`/api${path}`, this.#headersOf(asked), timeoutMs);
      const hash = status === 0 ? null : createHash('sha1').update(body).digest('base64url').slice(0, 12);
      const shows = asked.shows(status, body);
      this.#history.add({ type: 'answer', reader, process, path, start, status, etag, hash, shows });
      if (Object.keys(shows).length > 0) this.#shown.set(reader, shows);
      await sleep(pauseMs);
    }
  }
}
