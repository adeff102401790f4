import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EventOf, type HistoryWriter, nowMs } from '../history.ts';
import { type AskedPath, askedPaths } from './probes.ts';
import type { Service } from './service.ts';

const timeoutMs = 10_000;
/** Between an answer and the next question of the same reader. */
const pauseMs = 700;

const readerOf = (api: string, path: number): string => `${api} ${path + 1}`;

/** The readers of these APIs, as a history's first line names them. */
export const readersOf = (apis: readonly string[]): EventOf<'begin'>['readers'] =>
  apis.flatMap((process) => askedPaths.map(({ path }, i) => ({ reader: readerOf(process, i), process, path })));

/** Each asks one API for one path, over and over. */
export function startReaders(
  apis: readonly Service[],
  headersOf: (asked: AskedPath) => Record<string, string>,
  history: HistoryWriter,
) {
  const all = apis.flatMap((service) =>
    askedPaths.map((asked, i) => ({ reader: readerOf(service.name, i), service, asked })),
  );
  const stopped = new AbortController();
  /** What each reader was shown last. */
  const last = new Map<string, EventOf<'answer'>['shows']>();
  const running = all.map(async ({ reader, service, asked }, i) => {
    const { path } = asked;
    await sleep((pauseMs * i) / all.length);
    while (!stopped.signal.aborted) {
      const start = nowMs();
      const { process } = service;
      const { status, etag, body } = await service.get(`/api${path}`, headersOf(asked), timeoutMs);
      const hash = status === 0 ? null : createHash('sha1').update(body).digest('base64url').slice(0, 12);
      const shows = asked.shows(status, body);
      history.add({ type: 'answer', reader, process, path, start, status, etag, hash, shows });
      if (Object.keys(shows).length > 0) last.set(reader, shows);
      await sleep(pauseMs);
    }
  });
  return {
    /** Whether all whose path shows a probe were shown this version of it, or a later one. */
    haveSeen: (probe: string, n: number): boolean =>
      all.every(({ reader, asked }) => {
        const shown = last.get(reader)?.[probe];
        return !asked.probes.includes(probe) || (typeof shown === 'number' && shown >= n);
      }),
    async stop(): Promise<void> {
      stopped.abort();
      await Promise.all(running);
    },
  };
}
