import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ChangeListener } from '../../api/ports/view-reader.ts';
import { tagCount } from '../../schemas/views/view-keys.ts';
import type { RedisKeys } from './redis-keys.ts';
import { invalidations, type MissingRights } from './redis-rights.ts';

// The projector moves every tag's fence each second. A tag unheard of for longer: a connection may be half open.
const silenceMaxMs = 2_000;
const checkMs = 250;
// So that a half-open connection owes a reply, is given up (the reader's socketTimeout) and made anew.
const pingMs = 1_000;
const refusedWaitMs = 5_000;
const uncached = 'changes are not heard, so nothing is cached: each read asks Redis';

/**
 * Hears of every change to the public layer through Redis's invalidation messages (CLIENT TRACKING, broadcast by
 * prefix), on a connection of its own to each master. Nothing is surely heard until tracking is acknowledged and every
 * tag's heartbeat has come; nor once a connection is lost or a tag falls silent. Returns what stops it.
 */
export function trackChanges(
  client: Redis | Cluster,
  keys: RedisKeys,
  listener: ChangeListener,
  rights: MissingRights,
): () => void {
  const heardMs = new Float64Array(tagCount).fill(Number.NEGATIVE_INFINITY);
  const trackers = new Map<string, Redis>();
  let hearing = false;
  const setHearing = (hears: boolean): void => {
    if (hears === hearing) return;
    hearing = hears;
    listener.hearing(hears);
  };
  const forget = (): void => {
    heardMs.fill(Number.NEGATIVE_INFINITY);
    setHearing(false);
    listener.allChanged();
  };

  const onInvalidation = (names: Buffer[] | null): void => {
    if (names === null) {
      listener.allChanged();
      return;
    }
    for (const name of names) {
      const text = name.toString();
      const tag = keys.fenceTag(text);
      if (tag >= 0) heardMs[tag] = performance.now();
      else {
        const key = keys.fromRedis(text);
        if (key) listener.changed(key);
      }
    }
  };

  const track = (master: Redis): Redis => {
    const tracker = new Redis({
      ...(master.options as Omit<RedisOptions, 'replyMapping'>),
      // Invalidations come as messages of a channel: no pushes of another kind.
      protocol: 2,
      // A connection that only listens must come back by itself, for ever.
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 5), 1_000),
      enableAutoPipelining: false,
      enableOfflineQueue: true,
      enableReadyCheck: false,
      commandTimeout: 5_000,
      autoResubscribe: false,
      lazyConnect: false,
    });
    tracker.on('error', () => {});
    tracker.on('close', forget);
    tracker.on('connect', () => {
      void (async () => {
        const id = (await tracker.call('CLIENT', 'ID')) as number;
        await tracker.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', String(id), 'BCAST', 'PREFIX', keys.publicPrefix);
        await tracker.subscribe(invalidations);
        rights.forget(uncached);
        // What changed before tracking was acknowledged was not heard.
        forget();
      })().catch((cause) => {
        // A right that is missing is there no sooner for asking at once.
        const waitMs = rights.noted(cause, uncached) ? refusedWaitMs : 0;
        setTimeout(() => tracker.status !== 'end' && tracker.disconnect(true), waitMs).unref();
      });
    });
    tracker.on('messageBuffer', (_channel: Buffer, names: unknown) => onInvalidation(names as Buffer[] | null));
    return tracker;
  };

  const refresh = (): void => {
    const masters = client instanceof Cluster ? client.nodes('master') : [client];
    const wanted = new Map(masters.map((m) => [`${m.options.host}:${m.options.port}`, m]));
    for (const [name, tracker] of trackers) {
      if (wanted.has(name)) continue;
      trackers.delete(name);
      tracker.removeAllListeners('close');
      tracker.disconnect();
      forget();
    }
    for (const [name, master] of wanted) if (!trackers.has(name)) trackers.set(name, track(master));
  };

  refresh();
  let pingedMs = performance.now();
  const ping = (): void => {
    if (performance.now() - pingedMs < pingMs) return;
    pingedMs = performance.now();
    for (const tracker of trackers.values()) if (tracker.status === 'ready') void tracker.ping().catch(() => {});
  };
  const timer = setInterval(() => {
    if (client instanceof Cluster) refresh();
    ping();
    const since = performance.now() - silenceMaxMs;
    const silent = heardMs.some((ms) => ms < since);
    if (silent && hearing) {
      setHearing(false);
      listener.allChanged();
    } else if (!silent) setHearing(true);
  }, checkMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    for (const tracker of trackers.values()) {
      tracker.removeAllListeners('close');
      tracker.disconnect();
    }
  };
}
