import { beforeEach, describe, expect, it } from 'vitest';
import { ViewCache } from '../../../../api/calendar/views/view-cache.ts';
import type { ChangeListener, ViewReader } from '../../../../api/ports/view-reader.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import type { ViewWriter } from '../../../../projector/ports/view-writer.ts';
import { allTags, completeKey, completeKeyOf } from '../../../../schemas/views/view-keys.ts';
import { parseKey, rideKey } from '../../../../schemas/views/view-kinds.ts';
import { complete, lead } from '../../../support/stores/lead.ts';
import { valueWrite } from '../../../support/stores/view-names.ts';

/** What the API keeps of views, over a store in memory whose replies and messages the test lets through. */

let writer: ViewWriter;
let reader: ViewReader;
let heard: ChangeListener;
let replies: Promise<void>;
let reads: number;

beforeEach(async () => {
  const store = new MemoryViewStore();
  writer = store.writer();
  await lead(writer);
  await complete(writer, allTags);
  replies = Promise.resolve();
  reads = 0;
  const direct = store.reader();
  reader = {
    ...direct,
    async get(keys) {
      reads += 1;
      const values = await direct.get(keys);
      await replies;
      return values;
    },
    // Changes are told by the test alone.
    listen(listener) {
      heard = listener;
      listener.hearing(true);
    },
  };
});

const key = rideKey('loop');
const put = (value: string | null, at = key) =>
  writer.commit(parseKey(at).tag, [valueWrite(at, value === null ? null : Buffer.from(value))]);
const textOf = async (cache: ViewCache, at = key) => (await cache.load([at]))[0]!.value?.toString() ?? null;

describe('the view cache', () => {
  it('reads a view once, until it hears that it changed', async () => {
    const cache = new ViewCache(reader);
    await put('one');
    expect([await textOf(cache), await textOf(cache), reads]).toEqual(['one', 'one', 1]);
    await put('two');
    heard.changed(key);
    expect([await textOf(cache), reads]).toEqual(['two', 2]);
  });

  it('keeps no absence: keys that somebody makes up push nothing out', async () => {
    const cache = new ViewCache(reader);
    for (let i = 0; i < 100; i++) expect(await textOf(cache, rideKey(`made${i}`))).toBeNull();
    expect(cache.bytes).toBe(0);
    expect(cache.peek(rideKey('made1'))).toBeUndefined();
  });

  // Else a missing view would count as gone in a store that was emptied.
  it('keeps no word that a tag is complete', async () => {
    const cache = new ViewCache(reader);
    await put('1', completeKey(3));
    expect(await textOf(cache, completeKey(3))).toBe('1');
    expect(cache.peek(completeKey(3))).toBeUndefined();
  });

  it.each([
    ['its own change', () => heard.changed(key)],
    ['that anything may have changed', () => heard.allChanged()],
    ['that changes are no longer heard', () => heard.hearing(false)],
  ])('does not keep a reply that comes after word of %s', async (_what, tell) => {
    const cache = new ViewCache(reader);
    await put('old');
    const { promise, resolve } = Promise.withResolvers<void>();
    replies = promise;
    const slow = textOf(cache);
    await new Promise(setImmediate);
    await put('new');
    tell();
    resolve();
    expect(await slow).toBe('old');
    expect(cache.peek(key)).toBeUndefined();
    heard.hearing(true);
    expect(await textOf(cache)).toBe('new');
  });

  it('keeps nothing before changes are heard, and forgets all when they no longer are', async () => {
    const cache = new ViewCache({
      ...reader,
      listen(listener) {
        heard = listener;
      },
    });
    await put('one');
    await textOf(cache);
    expect([cache.peek(key), cache.bytes]).toEqual([undefined, 0]);
    for (let twice = 0; twice < 2; twice++) {
      heard.hearing(true);
      await textOf(cache);
    }
    expect([cache.peek(key)?.value?.toString(), cache.bytes]).toEqual(['one', 3 * 3 + 400]);
    heard.hearing(false);
    expect([cache.peek(key), cache.bytes]).toEqual([undefined, 0]);
  });

  it('tells of each view that is looked up, each round trip, and what was found', async () => {
    const used: string[] = [];
    const took: [operation: string, seconds: number][] = [];
    const cache = new ViewCache(reader, {
      onUsed: (looked) => used.push(looked),
      onRead: (operation, seconds) => took.push([operation, seconds]),
    });
    await put('one');
    await cache.load([key, completeKeyOf(key)]);
    cache.peek(key);
    await cache.load([key]);
    await cache.fields('none', ['f']);
    expect(used).toEqual([key, completeKeyOf(key), key, key]);
    expect(took.map(([operation]) => operation)).toEqual(['get', 'fields']);
    // Seconds, not milliseconds since the process began.
    for (const [, seconds] of took) expect(seconds).toBeLessThan(performance.now() / 1000);
    // A complete key is no view, and who peeks counts what is found.
    expect([cache.hits, cache.misses]).toEqual([1, 1]);
  });

  it('holds as many bytes as it may: the oldest make room', async () => {
    const cache = new ViewCache(reader, { bytesMax: 2 * 409 });
    const keys = ['aaaa', 'bbbb', 'cccc'].map(rideKey);
    for (const each of keys) {
      await put('one', each);
      await textOf(cache, each);
    }
    expect(keys.map((each) => cache.peek(each) !== undefined)).toEqual([false, true, true]);
    expect(cache.bytes).toBe(2 * 409);
    for (const each of keys) heard.changed(each);
    expect(cache.bytes).toBe(0);
  });

  it('lets another listener hear, once the change is forgotten here', async () => {
    const cache = new ViewCache(reader);
    await put('one');
    await textOf(cache);
    const told: string[] = [];
    cache.onChange({
      changed: (changed) => void told.push(`${changed} ${cache.peek(changed) === undefined}`),
      allChanged: () => void told.push('all'),
    });
    heard.changed(key);
    heard.allChanged();
    expect(told).toEqual([`${key} true`, 'all']);
  });
});

it('nothing kept is answered from before it is known that the process was not paused', async () => {
  let paused = false;
  const pausing: ViewReader = {
    ...reader,
    noticePause() {
      if (paused) heard.allChanged();
      paused = false;
    },
  };
  await put('before');
  const cache = new ViewCache(pausing);
  await cache.load([key]);
  expect(cache.peek(key)?.value?.toString()).toBe('before');
  await put('after');
  paused = true;
  expect([cache.peek(key), await textOf(cache)]).toEqual([undefined, 'after']);
});
