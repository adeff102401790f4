import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';
import { redisViewReader } from '../../../infra/redis/redis-view-reader.ts';
import { redisViewWriter } from '../../../infra/redis/redis-view-writer.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { allTags, completeKey, parseKey, readerKey } from '../../../schemas/views/view-keys.ts';
import { freshKeyPrefix } from '../../support/backends.ts';
import { Processes } from '../../support/process.ts';
import { fieldsWrite, valueWrite } from '../../support/view-names.ts';

// A Redis user that lacks a right makes a service that seems to work: what is missing is named, in the words to grant it.

const processes = new Processes();
let server: RedisServer;
let admin: Redis;
let keyPrefix: string;
let stopFilling: () => Promise<void>;
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
  keyPrefix = freshKeyPrefix();
  stopFilling = await fill();
});
afterAll(async () => {
  await processes.close();
  await stopFilling();
  admin.disconnect();
  await server.stop();
});

/** Makes the store complete, and beats as a projector does. */
async function fill(): Promise<() => Promise<void>> {
  const writer = await redisViewWriter({ url: server.url, cluster: false, keyPrefix });
  await writer.lead(allTags);
  const stop = new AbortController();
  const beating = (async () => {
    while (!stop.signal.aborted) {
      for (const tag of allTags) await writer.commit(tag, [valueWrite(completeKey(tag), Buffer.from('1'))]);
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
  })();
  return async () => {
    stop.abort();
    await beating;
    await writer.close();
  };
}

const readerRights = '+mget +hmget +client +info +ping +hello +subscribe &__redis__:invalidate ~*'.split(' ');
const writerRights = '+get +set +del +hset +hdel +hgetall +getrange +eval +evalsha +scan +time +ping +info ~*'.split(
  ' ',
);
const but = (rights: string[], lacking: string | null): string[] => rights.filter((right) => right !== lacking);

let users = 0;
/** A new user with these rights alone; the URL that signs it in. */
async function userWith(rights: string[], name = `user-${++users}`): Promise<string> {
  await admin.call('ACL', 'SETUSER', name, 'reset', 'on', '>pw', 'resetchannels', ...rights);
  return server.url.replace('//', `//${name}:pw@`);
}

describe('a reader', () => {
  it.each([
    [null, null, true],
    ['+subscribe', 'nothing is cached', true],
    ['&__redis__:invalidate', 'nothing is cached', true],
    ['+client', 'nothing is cached', true],
    ['+hmget', 'get 503', true],
    ['+info', 'after a lost connection', true],
    ['+mget', 'REDIS_URL', false],
    ['~*', 'REDIS_URL', false],
  ])('whose user lacks %s says so, and what comes of it: %s', async (lacking, consequence, isReady) => {
    const url = await userWith(but(readerRights, lacking));
    const reader = redisViewReader({ url, cluster: false, keyPrefix });
    let hears = false;
    reader.watch({
      changed() {},
      allChanged() {},
      hearing(now) {
        hears = now;
      },
    });
    try {
      const said = await vi.waitFor(
        async () => {
          const state = await reader.ready();
          expect(state.ready).toBe(isReady);
          const words = (state.ready ? state.note : state.reason) ?? '';
          expect(words).toContain(lacking === '~*' ? '~<REDIS_KEY_PREFIX>*' : (lacking ?? ''));
          expect(words).toContain(consequence ?? '');
          if (lacking === null) expect(hears).toBe(true);
          return words;
        },
        { timeout: 20_000, interval: 100 },
      );
      if (lacking === null) expect(said).toBe('');
      else expect(said).toContain('grant it');
      if (consequence === 'nothing is cached') expect(hears).toBe(false);
      if (lacking === '+hmget') await expect(reader.fields(readerKey('x'), ['a'])).rejects.toThrow('hmget');
    } finally {
      await reader.close();
    }
  });

  it('says it no more once the right is granted', async () => {
    const url = await userWith(but(readerRights, '+subscribe'), 'mended');
    const reader = redisViewReader({ url, cluster: false, keyPrefix });
    let hears = false;
    reader.watch({
      changed() {},
      allChanged() {},
      hearing(now) {
        hears = now;
      },
    });
    const note = async () => (await reader.ready()) as { note?: string };
    await vi.waitFor(async () => expect((await note()).note).toContain('+subscribe'), { timeout: 20_000 });
    await admin.call('ACL', 'SETUSER', 'mended', '+subscribe');
    await vi.waitFor(
      async () => {
        expect(await note()).toEqual({ ready: true });
        expect(hears).toBe(true);
      },
      { timeout: 30_000 },
    );
    await reader.close();
  });
});

describe('a writer', () => {
  it.each([
    null,
    ...[
      '+get',
      '+set',
      '+del',
      '+hset',
      '+hdel',
      '+hgetall',
      '+getrange',
      '+eval',
      '+evalsha',
      '+scan',
      '+time',
      '+info',
    ],
  ])('whose user lacks %s is refused for good, naming it', async (lacking) => {
    const url = await userWith(but(writerRights, lacking));
    await admin.script('FLUSH');
    const writer = await redisViewWriter({ url, cluster: false, keyPrefix: freshKeyPrefix() });
    try {
      const everything = writeAll(writer);
      if (lacking === null) await everything;
      else await expect(everything).rejects.toMatchObject({ retry: false, message: expect.stringContaining(lacking) });
    } finally {
      await writer.close();
    }
  });
});

/** All that a projector does to a store. */
async function writeAll(writer: ViewWriter): Promise<void> {
  await writer.lead(allTags);
  await writer.position();
  const reader = readerKey('x');
  const { tag } = parseKey(reader);
  await writer.commit(tag, [valueWrite(completeKey(tag), Buffer.from('1')), fieldsWrite(reader, { a: '1', b: '2' })]);
  for await (const _ of writer.list([tag]));
  await writer.commit(tag, [fieldsWrite(reader, { a: null })]);
  await writer.commit(tag, [valueWrite(completeKey(tag), null)]);
}

it('an API whose user may not SUBSCRIBE says so in its log and at /readyz', async () => {
  const url = await userWith(but(readerRights, '+subscribe'));
  const api = await processes.start('api', { REDIS_URL: url, REDIS_KEY_PREFIX: keyPrefix, AUTH_REDIS_URL: server.url });
  await api.ready();
  await api.printed(/Reads are answered, but the Redis user of REDIS_URL lacks \+subscribe/, 60_000);
  const readyz = (await (await fetch(`${api.origin}/readyz`)).json()) as { status: string; note: string };
  expect(readyz).toEqual({ status: 'ready', note: expect.stringContaining('+subscribe') });
  await api.stop();
});
