import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { type Arg, type RedisConnection, redisConnection } from '../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { beatScript, digestOf, lookScript } from '../../infra/redis/views/tags-at-once.ts';
import { commitScript, freeScript, openNamesMax, script, takeScript } from '../../infra/redis/views/view-scripts.ts';
import { RedisInMemory } from './redis-in-memory.ts';

// The simulator's Redis answers as a real one does, to the same commands and scripts, and holds the same afterwards.

let server: RedisServer;
let real: RedisConnection;
let realProcess = { runId: '', replicationId: '' };
let nowMs = 0;
let simulated: RedisInMemory;

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
  await setFull(false);
}

async function setFull(isFull: boolean): Promise<void> {
  await real.command('', ['CONFIG', 'SET', 'maxmemory', isFull ? '1' : '0']);
  simulated.refuses = isFull ? 'OOM' : null;
}

/** A reply that can be compared: a bulk is `$` and its bytes, a refusal `-` and its words. */
function plain(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return `$${reply.toString('latin1')}`;
  return Array.isArray(reply) ? reply.map(plain) : reply;
}

const refused = (cause: Error): string => `-${cause.message}`;
const askReal = (args: Arg[]): Promise<unknown> => real.command('', args).then(plain, refused);
const askSimulated = async (args: Arg[]): Promise<unknown> => {
  try {
    return plain(simulated.command(args));
  } catch (cause) {
    return refused(cause as Error);
  }
};

/** What both answer. */
async function agreed(args: Arg[]): Promise<unknown> {
  const wanted = inOrder(args, await askReal(args));
  setClock(wanted);
  const found = inOrder(args, await askSimulated(args));
  expect({ args: args.map(String), reply: found }).toEqual({ args: args.map(String), reply: wanted });
  return wanted;
}

/** A hash's fields have no order. */
function inOrder([name]: readonly Arg[], reply: unknown): unknown {
  if (name !== 'HGETALL' || !Array.isArray(reply)) return reply;
  return reply.flatMap((field, i) => (i % 2 === 0 ? [`${field}=${reply[i + 1]}`] : [])).sort();
}

/** The real one's clock, as far as it shows in the fence that it has just given. */
function setClock(reply: unknown): void {
  const epoch = Number(/^\$(\d{13}):0:/.exec(String(Array.isArray(reply) ? reply[0] : ''))?.[1]);
  nowMs = Math.abs(epoch - Date.now()) < 60_000 ? epoch : Date.now();
}

async function run(source: string, names: readonly string[], args: readonly Arg[]): Promise<unknown> {
  const tail = [String(names.length), ...names, ...args];
  const reply = await agreed(['EVALSHA', script(source).sha, ...tail]);
  if (reply !== '-NOSCRIPT No matching script. Please use EVAL.') return reply;
  return agreed(['EVAL', source, ...tail]);
}

const keys = redisKeys('p*[x]:');
const notes = [keys.fence(0), keys.position(0), keys.open(0), keys.complete(0), keys.led(0)];
const views = ['a', 'b|ü', 'c'].map((id) => keys.of(0, 'ride', id));
const riders = ['d', 'é'].map((id) => keys.of(0, 'reader', id));
const second = [keys.fence(1), keys.position(1), keys.open(1), keys.complete(1), keys.led(1)];
const all = [...notes, ...views, ...riders, ...second, keys.asked()];

async function agreeOnAll(): Promise<void> {
  for (const key of all) {
    for (const name of ['GET', 'HGETALL']) await agreed([name, key]);
    const members = await agreed(['ZRANGE', key, '0', '-1']);
    if (Array.isArray(members))
      for (const member of members) await agreed(['ZSCORE', key, Buffer.from(String(member).slice(1), 'latin1')]);
  }
  const scanned = async (ask: (args: Arg[]) => Promise<unknown>): Promise<unknown[]> => {
    const names: unknown[] = [];
    for (let cursor = '0'; ; ) {
      const [next, found] = (await ask(['SCAN', cursor, 'MATCH', 'p\\*\\[x\\]:*{v0}*'])) as [string, unknown[]];
      names.push(...found);
      cursor = next.slice(1);
      if (cursor === '0') return [...new Set(names)].sort();
    }
  };
  expect(await scanned(askSimulated)).toEqual(await scanned(askReal));
}

const anyKey = fc.constantFrom(...all);
const member = fc.constantFrom('a', 'b', 'compare', 'ü', 'B', '');
const anyMembers = fc.array(member, { minLength: 1, maxLength: 3 });
const value = fc.oneof(
  member,
  fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes)),
);
const commandOf = (...parts: (string | fc.Arbitrary<Arg | Arg[]>)[]): fc.Arbitrary<Arg[]> =>
  fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((args) => args.flat());

const anyCommand = fc.oneof(
  commandOf('GET', anyKey),
  commandOf('MGET', anyKey, anyKey),
  commandOf('GETRANGE', anyKey, '0', fc.constantFrom('0', '5', '80')),
  commandOf('SET', anyKey, value),
  commandOf('MSET', anyKey, value, anyKey, value),
  commandOf('DEL', anyKey, anyKey),
  commandOf('HSET', anyKey, member, value),
  commandOf('HMGET', anyKey, anyMembers),
  commandOf('ZADD', anyKey, '7', member, '+inf', member),
  commandOf('ZADD', notes[2]!, '+inf', 'compare'),
  commandOf('EVALSHA', 'ffffffffffffffffffffffffffffffffffffffff', '0'),
);

const fences = ['5:1:aa:led', '5:2:aa:led', '5:3:aa:led', '6:0:bb:led', '5:1:aa:free', '9999999999999:0:aa:led', ''];
const fence = fc.constantFrom(...fences, 'no fence');
const otherType = fc.tuple(anyKey, fc.constantFrom('list', 'hash', 'set', 'text'));
const note = (...texts: string[]) => fc.constantFrom(...texts);

const anyWrite = fc.oneof(
  fc.record({ op: note('s'), key: fc.constantFrom(...views), value }),
  fc.record({ op: note('d'), key: fc.constantFrom(...views, ...riders) }),
  fc.record({
    op: note('h'),
    key: fc.constantFrom(...riders),
    fields: fc.array(fc.tuple(member, member), { minLength: 1 }),
  }),
  fc.record({ op: note('r'), key: fc.constantFrom(...riders), fields: fc.array(fc.tuple(member), { minLength: 1 }) }),
);

const batch = fc.record({
  expected: fc.option(fence),
  next: fence,
  stamp: note('', '?', 'other', 'own'),
  position: note('', 'position 7'),
  since: note('0', '3', '7'),
  compare: note('', '', 'begin', 'end'),
  round: note('0', '3', '7'),
  names: fc.array(member, { maxLength: 4 }),
  writes: fc.array(anyWrite, { maxLength: 5 }),
  isSmall: fc.boolean(),
});

type Batch = typeof batch extends fc.Arbitrary<infer T> ? T : never;

/** A shorter open list than the shipped one, so that one too long is often met. */
const smallScript = commitScript.source.replace(`> ${openNamesMax} then`, '> 3 then');

async function commit({ expected, writes, names, ...notesOf }: Batch): Promise<unknown> {
  const { next, stamp, position, since, compare, round, isSmall } = notesOf;
  const own = `${realProcess.runId}:${realProcess.replicationId}`;
  // Mostly the fence that is there.
  const found = expected ?? String(await agreed(['GET', notes[0]!])).replace(/^\$/, '');
  const lists = writes.flatMap((write) => ('fields' in write ? [write.fields.flat()] : []));
  return run(
    isSmall ? smallScript : commitScript.source,
    [...notes, ...writes.map(({ key }) => key)],
    [
      ...[found, next, stamp === 'own' ? own : stamp, position, since, compare, round, String(names.length), ...names],
      writes.map(({ op }) => op).join(''),
      JSON.stringify(lists),
      ...writes.flatMap((write) => ('value' in write ? [write.value] : [])),
    ],
  );
}

const take = fc.record({
  seen: fc.option(fence),
  owner: note('aa', 'bb'),
  doubtful: note('0', '1'),
  last: note('0', '5', '9999999999998'),
});

const beat = fc.record({
  expected: fc.option(fence),
  next: fence,
  stamp: note('?', 'other', 'own'),
  isAsLeft: fc.constantFrom(true, true, false),
  position: note('', 'position 7'),
  since: note('0', '3', '7'),
  cut: note('', '0', '1', '0,1'),
});

const textAt = async (key: string): Promise<string> => {
  const [found] = (await agreed(['MGET', key])) as unknown[];
  return String(found ?? '').replace(/^\$/, '');
};

async function beatOf({
  expected,
  next,
  stamp,
  isAsLeft,
  position,
  since,
  cut,
}: typeof beat extends fc.Arbitrary<infer T> ? T : never) {
  const own = `${realProcess.runId}:${realProcess.replicationId}`;
  const others = digestOf(isAsLeft ? [await textAt(second[0]!)] : ['another']);
  const fences = [expected ?? (await textAt(notes[0]!)), next, stamp === 'own' ? own : stamp, '0,1', others];
  await run(beatScript.source, [...notes, keys.asked()], [...fences, position, since, cut]);
}

async function writeType([key, type]: [string, string]): Promise<void> {
  await agreed(['DEL', key]);
  if (type === 'list') await agreed(['RPUSH', key, 'x']);
  if (type === 'hash') await agreed(['HSET', key, 'field', 'x']);
  if (type === 'set') await agreed(['ZADD', key, '1', 'x']);
  if (type === 'text') await agreed(['SET', key, '5:1:aa:led']);
}

const step = fc.oneof(
  { weight: 4, arbitrary: anyCommand.map((args) => () => agreed(args)) },
  { weight: 8, arbitrary: batch.map((each) => () => commit(each)) },
  { weight: 3, arbitrary: otherType.map((each) => () => writeType(each)) },
  {
    weight: 3,
    arbitrary: take.map(({ seen, owner, doubtful, last }) => async () => {
      const found = seen ?? String(await agreed(['GET', notes[0]!])).replace(/^\$/, '');
      await run(takeScript.source, notes, [found === 'null' ? '' : found, owner, doubtful, last]);
    }),
  },
  { weight: 4, arbitrary: beat.map((each) => () => beatOf(each)) },
  {
    weight: 1,
    arbitrary: fc.boolean().map((isKnown) => async () => {
      const known = digestOf(isKnown ? [await textAt(second[0]!)] : ['another']);
      await run(lookScript.source, notes.slice(0, 2), ['0,1', known, '']);
    }),
  },
  { weight: 1, arbitrary: fc.tuple(fence, fence).map((each) => () => run(freeScript.source, [notes[0]!], each)) },
  { weight: 1, arbitrary: fc.boolean().map((isFull) => () => setFull(isFull)) },
);

it('random commands and batches, with keys of other types and a full store, leave the same in both', async () => {
  expect(smallScript).not.toBe(commitScript.source);
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
    await begin();
    for (const happen of steps) await happen();
    await setFull(false);
    await agreeOnAll();
  });
  await fc.assert(property, { numRuns: Number(process.env.RUNS ?? 300), endOnFailure: true });
});

const snippets = [
  "return {1, 2.9, -2.9, 'a\\0\\255', true, {{}, 'b'}, false, 3, nil, 4}",
  "return {ok = 'fine'}",
  "return {err = 'MY words'}",
  'return {tostring(1e15), tostring(2^53), string.format("%.0f", 2^53), 10 .. "", #KEYS, #ARGV, ARGV[1] .. KEYS[1]}',
  "redis.call('SET', KEYS[1], 17) return {redis.call('GET', KEYS[1]), type(redis.pcall('GET', 'none'))}",
  "redis.call('ZADD', KEYS[1], 1700000000000, 'a') return redis.call('ZSCORE', KEYS[1], 'a')",
  "redis.call('RPUSH', KEYS[1], 'x')\nlocal reply = redis.pcall('GET', KEYS[1])\nreturn {reply.err, type(reply)}",
  "redis.call('RPUSH', KEYS[1], 'x')\n\nredis.call('GET', KEYS[1])",
  "return redis.call('GET', nil)",
  "return redis.pcall('NOSUCH', 'x')",
  "error({err = 'ERR mine'})",
  'return 1 + nil',
  'return nosuch',
  'nosuch = 1',
  'return nosuch(',
  'return {select("#", unpack(cjson.decode(ARGV[2])[1])), #cjson.decode(ARGV[2])}',
  "return {string.match(redis.call('INFO', 'server'), 'run_id:(%w+)'), #redis.call('TIME')}",
];

it('scripts get and give the same in both, and fail in the same words', async () => {
  const texts = Array.from({ length: 40 }, (_, i) => [`field "${i}"`, 'ü\n'.repeat(i * i)]).flat();
  for (const source of snippets) {
    await begin();
    await run(source, all.slice(0, 1), ['Ü', JSON.stringify([texts, []])]);
    await agreeOnAll();
  }
});

it('an open list that outgrows its limit, and more fields than Lua can pass on, end alike in both', async () => {
  await begin();
  const held = '5:1:aa:led';
  await agreed(['SET', notes[0]!, held]);
  const many = Array.from({ length: openNamesMax }, (_, i) => ['1', `name ${i}`]).flat();
  await agreed(['ZADD', notes[2]!, ...many]);
  const noteArgs = ['', '', '0', '', '2'];
  await run(commitScript.source, notes, [held, '5:2:aa:led', ...noteArgs, '1', 'one more', '', '[]']);
  expect(await agreed(['ZRANGE', notes[2]!, '0', '-1'])).toEqual(['$compare']);
  for (const count of [3_900, 4_100]) {
    const fields = JSON.stringify([Array.from({ length: count }, (_, i) => [`${i}`, 'x']).flat()]);
    await run(commitScript.source, [...notes, riders[0]!], ['5:2:aa:led', '5:2:aa:led', ...noteArgs, '0', 'h', fields]);
  }
  await agreeOnAll();
});

it('a Redis that has become a replica refuses the same commands in both', async () => {
  await begin();
  await agreed(['SET', notes[0]!, '5:1:aa:led']);
  await real.command('', ['REPLICAOF', '127.0.0.1', '1']);
  simulated.refuses = 'READONLY';
  try {
    await agreed(['SET', notes[0]!, 'x']);
    await agreed(['DEL', notes[0]!]);
    await agreed(['GET', notes[0]!]);
    await run(freeScript.source, [notes[0]!], ['5:1:aa:led', '5:1:aa:free']);
    await run(freeScript.source, [notes[0]!], ['another', '5:1:aa:free']);
  } finally {
    await real.command('', ['REPLICAOF', 'NO', 'ONE']);
  }
});
