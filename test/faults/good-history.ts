import type { HistoryEvent } from './history.ts';

const dayPath = '/metros/portland/days/2026-06-01';
const readers = ['api-1', 'api-2'].flatMap((process) => [
  { reader: `day at ${process}`, process, path: dayPath },
  { reader: `key at ${process}`, process, path: '/rides/r001' },
]);
const endMs = 220_000;
/** Redis is paused; an API is killed; the log loses its tail. */
const paused = { from: 40_000, to: 75_000 };
const killed = { from: 140_000, to: 145_000 };
const tailLost = { from: 180_000, to: 181_000 };
const keyGone = { from: 20_500, to: 30_500 };
const tailN = 180;

/**
 * A small history without a fault of the service: a ride's title changes each second, a developer key goes and comes, and two readers of two
 * APIs look each second.
 */
export function goodHistory(): HistoryEvent[] {
  const events: HistoryEvent[] = [{ type: 'begin', at: 0, seed: 1, readers }];
  const isPaused = (at: number): boolean => at >= paused.from && at < paused.to;
  const fault = (id: number, name: string, span: { from: number; to: number }, target: string) =>
    (['begin', 'end'] as const).forEach((state, i) => {
      events.push({ type: 'fault', at: [span.from, span.to][i]!, id, state, name, target });
    });
  fault(1, 'pause', paused, 'redis');
  fault(2, 'kill', killed, 'api-2');
  fault(3, 'lose the tail', tailLost, 'kafka');
  const publish = (at: number, offset: number, probe: string | null, n: number, more: Partial<HistoryEvent> = {}) =>
    events.push({
      ...{ type: 'publish', sent: at - 5, at, as: 'good', topic: probe === 'key' ? 'developer-keys' : 'rides' },
      ...{ partition: 0, offset },
      version: probe ? { probe, n, gone: false } : null,
      ...more,
    } as HistoryEvent);
  publish(5, 0, 'key', 1);
  publish(keyGone.from, 1, 'key', 2, { version: { probe: 'key', n: 2, gone: true } });
  publish(keyGone.to, 2, 'key', 3);
  for (let n = 1; n <= 200; n++) {
    // After the loss nothing is published for a while, so that the version before is the newest.
    if (n <= tailN || n > tailN + 3) publish(n * 1_000 + 10, n + (n > tailN ? 99 : 0), 'ride', n);
  }
  publish(50_500, 1_000, null, 1, { as: 'bad', partition: 1 });
  publish(60_501, 0, 'ride', 301, { offset: null });
  publish(210_500, 1_002, null, 2, { as: 'bad', partition: 1 });
  events.push({ type: 'lost', at: 180_500, topic: 'rides', partition: 0, from: tailN });
  events.push({ type: 'reject', at: 215_000, topic: 'rides', partition: 1, offset: 1_000 });
  events.push({ type: 'reject', at: 215_000, topic: 'rides', partition: 1, offset: 1_002 });

  const isDown = (at: number): boolean => at >= killed.from && at < killed.to;
  const nameAt = (process: string, at: number): string =>
    process === 'api-2' && at >= killed.to ? 'api-2+1' : process;
  const changed = (process: string, at: number, state: 'started' | 'ended', asked: 'kill' | 'stop' | null) =>
    events.push({ type: 'process', at, process, state, code: null, asked });
  for (const process of ['projector-1', 'api-1', 'api-2']) changed(process, 0, 'started', null);
  changed('api-2', killed.from, 'ended', 'kill');
  changed('api-2+1', killed.to, 'started', null);

  for (let at = 500; at < endMs - 1_000; at += 1_000) {
    const n = Math.min(200, Math.floor((at - 500) / 1_000));
    const isKey = at < keyGone.from || at > keyGone.to + 100;
    for (const { reader, process, path } of readers) {
      const start = at + 200;
      const told = { type: 'answer' as const, reader, process: nameAt(process, at), path, start, at: start + 3 };
      const none = { etag: null, hash: null, shows: {} };
      if (isPaused(at)) events.push({ ...told, status: 503, ...none });
      else if (process === 'api-2' && isDown(at)) events.push({ ...told, status: 0, ...none });
      else if (path === dayPath) {
        const newest = n > tailN && n <= tailN + 3 ? tailN - 1 : n;
        const shows = { ride: newest === 0 ? false : newest };
        events.push({ ...told, status: 200, etag: `"${newest}"`, hash: `hash of ${newest}`, shows });
      } else events.push({ ...told, status: isKey ? 200 : 401, ...none, shows: { key: isKey } });
    }
  }
  for (const { process, path } of readers) {
    const body = { status: 200, body: `{"path":"${path}"}` };
    const final = { process: nameAt(process, endMs), path, answered: body, replay: body };
    events.push({ type: 'final', at: endMs - 100, ...final });
  }
  events.sort((a, b) => a.at - b.at);
  return [...events, { type: 'end', at: endMs, lines: events.length }];
}
