import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { type Arg, type RedisConnection, redisConnection } from '../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { viewWriterOver } from '../../infra/redis/views/redis-view-writer.ts';
import { openNamesMax, script } from '../../infra/redis/views/view-scripts.ts';
import type { ViewWrite, ViewWriter } from '../../projector/ports/view-writer.ts';
import { RedisInMemory } from './redis-in-memory.ts';

// The simulator's Redis answers as a real one does, to the same commands and scripts, and holds the same afterwards.

let server: RedisServer;
let real: RedisConnection;
let realProcess = { runId: '', replicationId: '' };
let nowMs = 0;
let simulated: RedisInMemory;
/** What the two answered differently. */
let differences: object[] = [];

beforeAll(async () => {
  server = await startRedisServer();
  real = await redisConnection({ url: server.url, cluster: false, keyPrefix: '' });
  const info = String(await real.command('', ['INFO']));
  const found = (name: string) => new RegExp(`${name}:(\\w+)`).exec(info)![1]!;
  realProcess = { runId: found('run_id'), replicationId: found('master_replid') };
});
afterAll(async () => {
  await real?.close();
  await server?.stop();
});

async function begin(): Promise<void> {
  await real.command('', ['FLUSHALL']);
  await real.command('', ['SCRIPT', 'FLUSH']);
  simulated = new RedisInMemory(() => nowMs);
  simulated.restart(new Map(), realProcess);
  differences = [];
}

async function setFull(isFull: boolean): Promise<void> {
  await real.command('', ['CONFIG', 'SET', 'maxmemory', isFull ? '1' : '0']);
  simulated.refuses = isFull ? 'OOM' : null;
}

/** A reply that can be compared: a bulk is `$` and its bytes, a refusal `-` and its words. A hash's fields have no order. */
function plain(reply: unknown, [name]: readonly Arg[]): unknown {
  if (reply instanceof Error) return `-${reply.message}`;
  if (Buffer.isBuffer(reply)) return `$${reply.toString('latin1')}`;
  if (!Array.isArray(reply)) return reply;
  const all = reply.map((each) => plain(each, []));
  return name === 'HGETALL' ? all.flatMap((field, i) => (i % 2 === 0 ? [`${field}=${all[i + 1]}`] : [])).sort() : all;
}

/** The real one's clock, as far as it shows in the fence that it has just given. */
function setClock(reply: unknown): void {
  const epoch = Number(/^(\d{13}):0:/.exec(String(Array.isArray(reply) ? reply[0] : ''))?.[1]);
  nowMs = Math.abs(epoch - Date.now()) < 60_000 ? epoch : Date.now();
}

/** Asks both, and answers as the real one. A long open list is met with four names. */
async function ask(given: readonly Arg[]): Promise<unknown> {
  const args = given.map((each, i) =>
    given[0] === 'EVAL' && i === 1 ? String(each).replace(`> ${openNamesMax} then`, '> 3 then') : each,
  );
  const wanted: unknown = await real.command('', args).catch((cause: Error) => cause);
  setClock(wanted);
  if (args[0] !== 'INFO') {
    const command = async () => simulated.command(args);
    const [found, reply] = [await command().catch((cause: Error) => cause), plain(wanted, args)];
    if (JSON.stringify(plain(found, args)) !== JSON.stringify(reply))
      differences.push({ args: args.map(String), wanted: reply, found: plain(found, args) });
  }
  if (wanted instanceof Error) throw wanted;
  return wanted;
}

const both: RedisConnection = {
  isCluster: false,
  command: (_, args) => ask(args),
  masters: async () => [ask],
  close: async () => {},
};
const simulatedAlone: RedisConnection = { ...both, masters: async () => [async (args) => simulated.command(args)] };

const keys = redisKeys('p*[x]:');
const tags = [0, 1];
const [rides, riders] = [
  ['a', 'b|ü', 'c'],
  ['d', 'é'],
];
const notesOf = (tag: number) => [keys.fence, keys.position, keys.open, keys.complete, keys.led].map((of) => of(tag));
const all = tags.flatMap((tag) => [
  ...notesOf(tag),
  ...rides.map((id) => keys.of(tag, 'ride', id)),
  ...riders.map((id) => keys.of(tag, 'reader', id)),
]);

/** Every key's value, and what SCAN finds. */
async function agreeOnAll(): Promise<void> {
  const tried = (args: Arg[]) => ask(args).catch(() => null);
  for (const key of [...all, keys.asked()]) {
    for (const name of ['GET', 'HGETALL']) await tried([name, key]);
    for (const member of ((await tried(['ZRANGE', key, '0', '-1'])) ?? []) as Buffer[])
      await tried(['ZSCORE', key, member]);
  }
  expect(differences).toEqual([]);
  const listed = async (connection: RedisConnection) => {
    const found = await Array.fromAsync(viewWriterOver(connection, keys, 'aa').list(tags, true));
    return [...new Set(found.map((each) => `${each.tag} ${each.kind} ${each.id}`))].sort();
  };
  expect(await listed(simulatedAlone)).toEqual(await listed(real));
}

const anyKey = fc.constantFrom(...all, keys.asked());
const anyTag = fc.constantFrom(...tags);
const member = fc.constantFrom('a', 'b', 'compare', 'ü', 'B', '');
const value = fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes));
const fence = fc.constantFrom('5:1:aa:led', '6:0:bb:led', '5:1:aa:free', '9999999999999:0:aa:led', 'no fence');
const commandOf = (...parts: (string | fc.Arbitrary<Arg>)[]): fc.Arbitrary<Arg[]> =>
  fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)));

/** What other programs do, too. */
const anyCommand = fc.oneof(
  commandOf('MGET', anyKey, anyKey),
  commandOf('GETRANGE', anyKey, '0', fc.constantFrom('0', '5', '80')),
  commandOf('SET', anyKey, fc.oneof(value, fence)),
  commandOf('MSET', anyKey, value, anyKey, value),
  commandOf('DEL', anyKey, anyKey),
  commandOf('HSET', anyKey, member, value),
  commandOf('HMGET', anyKey, member, member),
  commandOf('ZADD', anyKey, '7', member, '+inf', member),
  commandOf('SADD', anyKey, 'x'),
);

const anyWrite: fc.Arbitrary<ViewWrite> = fc.oneof(
  fc.record({ kind: fc.constant('ride' as const), id: fc.constantFrom(...rides), value: fc.option(value) }),
  fc.record({
    kind: fc.constant('reader' as const),
    id: fc.constantFrom(...riders),
    fields: fc.array(fc.record({ field: member, value: fc.option(member) }), { minLength: 1, maxLength: 3 }),
  }),
);
const stamp = fc.constantFrom('', 'other', 'own');
const stampOf = (text: string): string => (text === 'own' ? simulated.process : text);
const round = fc.constantFrom(0, 3, 7);
const position = fc.record({ text: fc.constant('position 7'), round });
const notes = fc.record(
  { round, position, compare: fc.constantFrom('begin' as const, 'end' as const), stamp },
  { requiredKeys: ['stamp'] },
);
const cut = fc.subarray(tags);

type Step = (writer: ViewWriter) => Promise<unknown>;
const stepOf = <T>(
  weight: number,
  drawn: fc.Arbitrary<T>,
  step: (drawn: T, writer: ViewWriter) => Promise<unknown>,
) => ({
  weight,
  arbitrary: drawn.map(
    (each): Step =>
      (writer) =>
        step(each, writer),
  ),
});

const anyStep = fc.oneof(
  stepOf(4, anyCommand, (args) => ask(args)),
  stepOf(4, fc.record({ tag: anyTag, isSeen: fc.boolean(), doubtful: fc.boolean() }), async (each, { leadership }) => {
    const [look] = await leadership!.look([each.tag]);
    await leadership!.take(each.tag, each.isSeen ? look!.fence : '5:1:aa:led', each.doubtful);
  }),
  stepOf(8, fc.tuple(anyTag, fc.array(anyWrite, { maxLength: 5 }), notes), ([tag, writes, said], { commit }) =>
    commit(tag, writes, { ...said, stamp: stampOf(said.stamp) }),
  ),
  stepOf(4, fc.record({ stamp, position: fc.option(position), cut }), (each, { beat }) =>
    beat!(tags, {
      stamp: stampOf(each.stamp),
      ...(each.position && { position: { ...each.position, cut: each.cut } }),
    }),
  ),
  stepOf(1, anyTag, (_, { leadership }) => leadership!.look(tags)),
  stepOf(1, anyTag, (tag, { leadership }) => leadership!.free(tag)),
  stepOf(1, fc.boolean(), setFull),
);

it('other programs and two leaders, with keys of other types and a full store, are answered alike by both, and leave the same', async () => {
  const steps = fc.array(fc.tuple(fc.constantFrom(0, 0, 0, 1), anyStep), { minLength: 5, maxLength: 40 });
  const property = fc.asyncProperty(steps, async (drawn) => {
    await begin();
    const writers = ['aa', 'bb'].map((owner) => viewWriterOver(both, keys, owner));
    for (const tag of tags) await writers[0]!.leadership!.take(tag, '', false);
    // What is refused is refused by both, or differs.
    for (const [i, happen] of drawn) await happen(writers[i]!).catch(() => {});
    await setFull(false);
    await agreeOnAll();
  });
  await fc.assert(property, { numRuns: Number(process.env.RUNS ?? 300), endOnFailure: true });
});

const snippets = [
  "return {1, 2.9, -2.9, 'a\\0\\255', true, {{}, 'b'}, false, 3, nil, 4}",
  "return {ok = 'fine'}",
  'return {tostring(1e15), tostring(2^53), 10 .. "", #KEYS, #ARGV, ARGV[1] .. KEYS[1]}',
  "redis.call('SET', KEYS[1], 17) return {redis.call('GET', KEYS[1]), type(redis.pcall('GET', 'none'))}",
  "redis.call('ZADD', KEYS[1], 1700000000000, 'a') return redis.call('ZSCORE', KEYS[1], 'a')",
  "redis.call('SADD', KEYS[1], 'x')\nlocal reply = redis.pcall('GET', KEYS[1])\nreturn {reply.err, type(reply)}",
  "redis.call('SADD', KEYS[1], 'x')\n\nredis.call('GET', KEYS[1])",
  "return redis.pcall('NOSUCH', 'x')",
  'return nosuch',
  'nosuch = 1',
  'return {select("#", unpack(cjson.decode(ARGV[2])[1])), #cjson.decode(ARGV[2])}',
];

it('scripts get and give the same in both, and fail in the same words', async () => {
  const texts = Array.from({ length: 40 }, (_, i) => [`field "${i}"`, 'ü\n'.repeat(i * i)]).flat();
  for (const source of snippets) {
    await begin();
    const tail = ['1', all[0]!, 'Ü', JSON.stringify([texts, []])];
    for (const args of [
      ['EVALSHA', script(source).sha],
      ['EVAL', source],
    ])
      await ask([...args, ...tail]).catch(() => {});
    await agreeOnAll();
  }
});
