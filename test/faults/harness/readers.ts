import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EventOf, type HistoryWriter, nowMs } from '../history.ts';
import { type Asker, askedPaths } from './probes.ts';
import type { Service } from './service.ts';

const timeoutMs = 10_000;
/** Between an answer and the next question of the same reader. */
const pauseMs = 700;

/** Each asks one API for one path, over and over. */
export function startReaders(
  apis: readonly Service[],
  headersOf: (as: Asker) => Record<string, string>,
  history: HistoryWriter,
) {
  const all = apis.flatMap((service) => askedPaths.map((asked) => ({ service, asked })));
  const stopped = new AbortController();
  /** What each was shown last. */
  const last: EventOf<'answer'>['shows'][] = [];
  const running = all.map(async ({ service, asked: { path, as, shows: shownIn } }, i) => {
    await sleep((pauseMs * i) / all.length);
    while (!stopped.signal.aborted) {
      const start = nowMs();
      const process = service.current();
      const { status, etag, body } = await service.get(`/api${path}`, headersOf(as), timeoutMs);
      const hash = status === 0 ? null : createHash('sha1').update(body).digest('base64url').slice(0, 12);
      const shows = shownIn(status, body);
      history.add('answer', { process, path, start, status, etag, hash, shows });
      if (Object.keys(shows).length > 0) last[i] = shows;
      await sleep(pauseMs);
    }
  });
  return {
    /** Whether all whose path shows a probe were shown this version of it, or a later one. */
    haveSeen: (probe: string, n: number): boolean =>
      last.every(({ [probe]: shown }) => shown === undefined || (typeof shown === 'number' && shown >= n)),
    async stop(): Promise<void> {
      stopped.abort();
      await Promise.all(running);
    },
  };
}
