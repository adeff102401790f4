import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, expect, it } from 'vitest';
import { parseFence } from '../../infra/redis/redis-keys.ts';
import { redisViewReader } from '../../infra/redis/views/redis-view-reader.ts';
import { viewWriterOver } from '../../infra/redis/views/redis-view-writer.ts';
import { schemaRegistry } from '../../infra/registry/schema-registry.ts';
import type { EventLog, Position } from '../../projector/ports/event-log.ts';
import { StoreRefusesError } from '../../projector/ports/view-writer.ts';
import { Stop } from '../../projector/running/stop.ts';
import { WakeUp } from '../../projector/running/waiting.ts';
import { operatorApp } from '../../services/serve/http/operator-routes.ts';
import { projectorMetrics } from '../../services/serve/metrics/projector-metrics.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { positionAt, TestKafka } from '../support/servers/kafka.ts';
import { listening } from '../support/servers/listening.ts';
import { stallingProxy } from '../support/servers/redis-proxies.ts';
import { startSignInService } from '../support/sign-in/sign-in-service.ts';
import { fastClock } from '../support/stores/fast-clock.ts';
import { logOf } from '../support/stores/placed-log.ts';
import { type Running, startProjector } from '../support/stores/projector-run.ts';
import { SharedStore } from '../support/stores/shared-store.ts';
import { TestArchive } from '../support/worlds/archive.ts';
import { sampleRecords } from '../support/worlds/records.ts';

// What a process does again and again for months leaves nothing behind (projector/SPEC.md P60).

/** One count for all kinds that were left behind once: to count is to collect all garbage first, which takes most of a second. */
class Counted {}
const prototypes = [Promise, EventTarget, EventEmitter].map(({ prototype }) => prototype);
for (const prototype of prototypes) Object.setPrototypeOf(prototype, Counted.prototype);
afterAll(() => {
  for (const prototype of prototypes) Object.setPrototypeOf(prototype, Object.prototype);
});

/** What lives in this process, once all that can be is collected. */
async function living() {
  for (let i = 0; i < 20; i++) await turn();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const objects = queryObjects(Counted as never, { format: 'count' }) as unknown as number;
  return { objects, timers, heap: process.memoryUsage().heapUsed };
}

/** Does something many times, and says what each time left behind, on average. */
async function leftBy(act: (i: number) => Promise<unknown>, times: number): Promise<void> {
  const warmUp = times / 5;
  for (let i = 0; i < warmUp; i++) await act(i);
  await sleep(500);
  const before = await living();
  for (let i = 0; i < times; i++) await act(warmUp + i);
  // What is only slow to go, on a busy machine, is no leak.
  for (let tries = 0; ; tries++) {
    const after = await living();
    const each = (what: keyof typeof before): number => (after[what] - before[what]) / times;
    const left = (Object.keys(before) as (keyof typeof before)[]).filter((what) =>
      what === 'heap' ? each(what) * times > 2e6 + 300 * times : each(what) > 0.1,
    );
    if (left.length === 0) return;
    if (tries === 20) expect(Object.fromEntries(left.map((what) => [what, each(what)]))).toEqual({});
    await sleep(250);
  }
}

/** A standby whose limit moves on and on, though its partition is held where it is. */
async function moving(log: EventLog, from: Position) {
  const [stop, moved, asked] = [new Stop(), new WakeUp(), new WakeUp()];
  const following = log.follow(
    from,
    {
      onBatch: async () => {},
      hold(topic) {
        if (topic !== 'metros' && topic !== 'riders') return null;
        asked.notify();
        return { offset: 1, moved: moved.wait() };
      },
    },
    stop.signal,
  );
  await asked.wait();
  return {
    async move() {
      const again = asked.wait();
      moved.notify();
      await again;
      await turn();
    },
    async end() {
      stop.end();
      await following;
      await log.close();
    },
  };
}

it('a standby of an archive and one of Kafka, whose limit moves', async () => {
  await using archive = await TestArchive.make(1);
  const value = (key: string) => ({ key, timestampMs: 0, value: { ...sampleRecords.riders, rider: key } });
  await archive.append('riders', 0, ['a', 'b', 'c'].map(value));
  await using kafka = new TestKafka();
  await kafka.createTopics();
  await kafka.sendMetros(['a', 'b', 'c']);
  const both = await Promise.all([archive.open(), kafka.eventLog()].map((log) => moving(log, positionAt(1))));
  await turn();
  await leftBy(async () => {
    for (const { move } of both) await move();
  }, 1_000);
  for (const { end } of both) await end();
});

/** A store for one projector, which may be told to refuse. */
function refusable(store: SharedStore, owner: string) {
  const told = { refuses: false, refused: 0 };
  const asking =
    <A extends unknown[]>(ask: (...args: A) => Promise<unknown>) =>
    async (...args: A): Promise<unknown> => {
      if (!told.refuses) return ask(...args);
      told.refused++;
      throw new StoreRefusesError('Redis refuses', { retry: true });
    };
  const { command, masters } = store.connection;
  const connection = {
    isCluster: false,
    command: asking(command),
    masters: async () => (await masters()).map(asking),
    close: async () => {},
  };
  const log = logOf([{ topic: 'riders', key: 'r', value: { ...sampleRecords.riders, rider: 'r' } }]);
  return Object.assign(
    told,
    startProjector(log, viewWriterOver(connection, store.keys, owner), null, { clock: fastClock }),
  );
}

const leads = ({ projector }: Running): boolean => projector.role === 'leader' && projector.status().tagsInRepair === 0;

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await sleep(1);
};

it('a leader and a standby that depose each other, are refused looks, lose their views and are scraped', async () => {
  const store = new SharedStore();
  const both = [refusable(store, 'a'), refusable(store, 'b')] as const;
  const register = new Registry();
  projectorMetrics(register).measure(() => both[0].projector);
  const app = operatorApp(register, async () => ({ ready: true }), pino({ level: 'silent' }) as never);
  await until(() => both.some(leads));
  const epochs = new Set<number>();
  await leftBy(async (i) => {
    const [one, other] = leads(both[0]) ? both : [both[1], both[0]];
    const before = one.refused;
    one.refuses = true;
    await until(() => leads(other) && one.refused > before + 10);
    one.refuses = false;
    await until(() => !leads(one));
    epochs.add(parseFence(String(store.redis.command(['GET', store.keys.fence(0)]))).epoch);
    store.restart(`process${i}`);
    await until(() => both.some(leads) && store.position(0) !== null);
    for (let times = 0; times < 10; times++) await app.inject('/metrics');
    await sleep(20);
  }, 20);
  expect(epochs.size).toBe(24);
  await app.close();
  for (const one of both) await one.stop();
});

it('an API whose Redis is away and comes back, look-ups in a registry that fail, and sign-ins', async () => {
  const proxy = await stallingProxy(redisUrl());
  const reader = redisViewReader({ url: proxy.url, cluster: false, keyPrefix: freshKeyPrefix() } as never);
  reader.listen({ changed() {}, allChanged() {}, hearing() {} });
  let status = 404;
  const server = createServer((_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}'),
  );
  const { url, close } = await listening(server);
  const registry = schemaRegistry({ url });
  const { signal } = new Stop();
  const service = await startSignInService();
  await leftBy(async (i) => {
    proxy.retarget(redisUrl());
    await sleep(60);
    await reader.ready();
    await reader.get(['a']).catch(() => {});
    for (const look of [1, 2, 3, 4, 5]) {
      status = look % 2 ? 404 : 503;
      await registry.lookUp(5 * i + look, signal).catch(() => {});
    }
    const { client, tokens } = await service.signedIn();
    await service.refresh(client, tokens.refresh_token);
    await service.refresh(client, 'no such token');
  }, 30);
  await service.close();
  close();
  await reader.close();
  await proxy.close();
});
