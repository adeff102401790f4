import { Redis } from 'ioredis';
import { calendar } from '../../api/calendar/calendar.ts';
import { ViewCache } from '../../api/calendar/view-cache.ts';
import type { ChangeListener, ViewReader } from '../../api/ports/view-reader.ts';
import { redisViewReader } from '../../infra/redis/redis-view-reader.ts';
import { redisViewWriter } from '../../infra/redis/redis-view-writer.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { Projector } from '../../projector/projector.ts';
import { from, metro, meWorld, readers, to } from './me-world.ts';
import { memoryEventLog } from './memory-event-log.ts';

/**
 * The two sides of the friends benchmark, in a process of its own: the answer as the API makes it, and bare round trips
 * to the same Redis. `projector URL` fills it and keeps its fences moving.
 */
const [role, url = ''] = process.argv.slice(2);
const settings = { url, cluster: false, keyPrefix: 'bench:' };
const rider = readers[0]!;

/** What one answer reads: of each round trip the commands, and the bytes of their replies. */
interface Trip {
  fields: { key: string; names: readonly string[] } | null;
  keys: readonly string[];
  bytes: number;
}

export interface FriendsRound {
  /** CPU microseconds, and microseconds one after the other, of an answer. */
  cpuMicros: number;
  micros: number;
}

export type FriendsSide = 'cached' | 'uncached' | 'same commands' | 'two values';

if (role === 'projector') {
  const writer = await redisViewWriter(settings);
  const projector = new Projector({ eventLog: memoryEventLog(meWorld()), writer, rejects: null, log: silentLog });
  void projector.run(new AbortController().signal);
  process.on('message', async () => {
    while (!projector.ready) await new Promise((resolve) => setTimeout(resolve, 10));
    process.send!('ready');
  });
} else {
  const sides = await prepare();
  process.on('message', async (message: { side: FriendsSide; count: number; at: number } | 'sizes') => {
    if (message === 'sizes') process.send!(sides.sizes);
    else process.send!(await measure(sides[message.side], message.count, message.at));
  });
}
process.on('SIGTERM', () => process.exit());

function bytesOf(values: readonly (Buffer | null)[]): number {
  return values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
}

/** `at` of them at a time. */
async function measure(ask: () => Promise<unknown>, count: number, at: number): Promise<FriendsRound> {
  let left = count;
  const before = process.cpuUsage();
  const start = performance.now();
  await Promise.all(
    Array.from({ length: at }, async () => {
      while (left-- > 0) await ask();
    }),
  );
  const micros = ((performance.now() - start) * 1000) / count;
  const { user, system } = process.cpuUsage(before);
  return { cpuMicros: (user + system) / count, micros };
}

function friendsAnswer(viewReader: ViewReader) {
  const cache = new ViewCache(viewReader);
  const calendarNowMs = Date.now;
  const answers = calendar({
    ...{ cache, calendarNowMs, cacheSeconds: 0 },
    baseUrl: 'http://127.0.0.1:8080/api',
    checker: { check: () => rider },
    openApi: Buffer.from('{}'),
    onFault: (cause) => {
      throw cause;
    },
  });
  const request = {
    method: 'GET',
    target: `/api/me/friends?metro=${metro}&from=${from}&to=${to}`,
    headers: { authorization: 'Bearer token' },
  };
  return async () => await answers(request)!.answer;
}

async function prepare() {
  const hearing = redisViewReader(settings);
  const cached = friendsAnswer(hearing);
  const trips: Trip[] = [];
  const deaf = redisViewReader(settings);
  const uncached = friendsAnswer({ ...deaf, watch: (_listener: ChangeListener) => {} });
  // A look at what one answer reads, tick by tick.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await friendsAnswer(recording(deaf, trips))();
  const merged = mergeTrips(trips);
  const redis = new Redis(url, { enableAutoPipelining: true });
  const spelled = (await import('../../infra/redis/redis-keys.ts')).redisKeys(settings.keyPrefix);
  const sameCommands = async (): Promise<void> => {
    for (const { fields, keys } of merged) {
      const all: Promise<unknown>[] = [redis.mgetBuffer(keys.map((key) => spelled.toRedis(key)))];
      if (fields) all.push(redis.hmgetBuffer(spelled.toRedis(fields.key), ...fields.names));
      await Promise.all(all);
    }
  };
  for (const [i, { bytes }] of merged.entries()) await redis.set(`bare:${i}`, Buffer.alloc(bytes, 'x'));
  const twoValues = async (): Promise<void> => {
    for (const i of merged.keys()) await redis.getBuffer(`bare:${i}`);
  };
  const { status, body } = await uncached();
  if (status !== 200) throw new Error(`Cannot measure friends: the answer is ${status}`);
  const nights = (JSON.parse(body!.toString()) as { nights: unknown[] }).nights.length;
  const sizes = {
    trips: merged.map(({ bytes, keys }) => ({ bytes, commands: keys.length })),
    body: body!.length,
    nights,
  };
  return { cached, uncached, 'same commands': sameCommands, 'two values': twoValues, sizes };
}

function recording(reader: ViewReader, trips: Trip[]): ViewReader {
  return {
    ...reader,
    watch() {},
    async get(keys) {
      const values = await reader.get(keys);
      trips.push({ fields: null, keys, bytes: bytesOf(values) });
      return values;
    },
    async fields(key, names) {
      const values = await reader.fields(key, names);
      trips.push({ fields: { key, names }, keys: [], bytes: bytesOf(values) });
      return values;
    },
  };
}

/** What is asked in one tick shares a round trip: the reader's fields go with the first keys. */
function mergeTrips(trips: Trip[]): Trip[] {
  const gets = trips.filter(({ fields }) => !fields);
  const fields = trips.find((trip) => trip.fields)!;
  return gets.map((trip, i) => (i > 0 ? trip : { ...fields, keys: trip.keys, bytes: fields.bytes + trip.bytes }));
}
