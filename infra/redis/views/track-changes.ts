import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ChangeListener } from '../../../api/ports/view-reader.ts';
import { backgroundClock } from '../../../projector/running/clock.ts';
import { Stop } from '../../../projector/running/stop.ts';
import { tagCount } from '../../../schemas/views/view-keys.ts';
import type { RedisKeys } from '../redis-keys.ts';
import { invalidationChannel, missingRight } from '../redis-refusal.ts';
import { reconnectDelayMs } from '../redis-settings.ts';
import { Invalidations } from './invalidations.ts';

const checkMs = 250;
// A connection that only listens owes no reply. A ping makes it owe one, so that socketTimeout closes a half-open connection.
const pingMs = 1_000;
const refusedWaitMs = 5_000;

export type Tracking = ReturnType<typeof trackChanges>;

/**
 * Hears every change to the public layer by Redis's invalidation messages (CLIENT TRACKING, broadcast by prefix), on a
 * separate connection to each master. `Invalidations` says when they are reliably heard.
 */
export function trackChanges(client: Redis | Cluster, keys: RedisKeys, listener: ChangeListener) {
  const clock = backgroundClock;
  const invalidations = new Invalidations(keys, listener, clock, client instanceof Cluster ? tagCount : 1);
  const trackers = new Map<string, Redis>();
  let refused: unknown = null;
  const stop = new Stop();
  const { signal } = stop;

  const track = (master: Redis): Redis => {
    const tracker = new Redis({
      ...(master.options as Omit<RedisOptions, 'replyMapping'>),
      // With RESP2 invalidations come as Pub/Sub messages, not as pushes.
      protocol: 2,
      // A connection that only listens must reconnect by itself, without limit.
      retryStrategy: reconnectDelayMs,
      enableAutoPipelining: false,
      enableOfflineQueue: true,
      enableReadyCheck: false,
      commandTimeout: 5_000,
      autoResubscribe: false,
      lazyConnect: false,
    });
    tracker.on('error', () => {});
    tracker.on('close', () => invalidations.connectionChanged());
    tracker.on('connect', () => {
      void (async () => {
        const id = (await tracker.call('CLIENT', 'ID')) as number;
        await tracker.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', String(id), 'BCAST', 'PREFIX', keys.publicPrefix);
        await tracker.subscribe(invalidationChannel);
        refused = null;
        // Changes before tracking was acknowledged were missed.
        invalidations.connectionChanged();
      })().catch(async (error) => {
        refused = error;
        // Asking again at once does not make a missing right appear.
        const waitMs = missingRight(error) === null ? 0 : refusedWaitMs;
        await clock.sleep(waitMs, signal);
        if (!signal.aborted && tracker.status !== 'end') tracker.disconnect(true);
      });
    });
    tracker.on('messageBuffer', (_channel: Buffer, names: unknown) => invalidations.message(names as Buffer[] | null));
    return tracker;
  };

  const refresh = (): void => {
    const masters = client instanceof Cluster ? client.nodes('master') : [client];
    const wanted = new Map(masters.map((m) => [`${m.options.host}:${m.options.port}`, m]));
    for (const [name, tracker] of trackers) {
      if (wanted.has(name)) continue;
      trackers.delete(name);
      tracker.removeAllListeners('close').disconnect();
      invalidations.connectionChanged();
    }
    for (const [name, master] of wanted) if (!trackers.has(name)) trackers.set(name, track(master));
  };

  const check = async (): Promise<void> => {
    let pingedMs = clock.nowMs();
    for (;;) {
      await clock.sleep(checkMs, signal);
      if (signal.aborted) return;
      if (client instanceof Cluster) refresh();
      if (clock.nowMs() - pingedMs >= pingMs) {
        pingedMs = clock.nowMs();
        for (const tracker of trackers.values()) if (tracker.status === 'ready') void tracker.ping().catch(() => {});
      }
      invalidations.check();
    }
  };

  refresh();
  void check();
  return {
    /** Why Redis refused to tell of changes: nothing is cached, and each read asks Redis. Null: it did not. */
    refused: () => refused,
    noticePause: () => invalidations.noticePause(),
    stop(): void {
      stop.end();
      for (const tracker of trackers.values()) tracker.removeAllListeners('close').disconnect();
    },
  };
}
