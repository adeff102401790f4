import { beforeEach, describe, expect, it, vi } from 'vitest';
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
let cache: ViewCache;
let heard: ChangeListener;
let replies: Promise<void>;
let reads: number;
/** Whether the process was paused, which nobody has noticed yet. */
let paused: boolean;

beforeEach(async () => {
  const store = new MemoryViewStore();
  writer = store.writer();
  await lead(writer);
  await complete(writer, allTags);
  replies = Promise.resolve();
  reads = 0;
  paused = false;
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
    },
    noticePause() {
      if (paused) heard.allChanged();
      paused = false;
    },
  };
  cache = new ViewCache(reader);
  heard.hearing(true);
});

const key = rideKey('loop');
const put = (value: string | null, at = key) =>
  writer.commit(parseKey(at).tag, [valueWrite(at, value === null ? null : Buffer.from(value))]);
const textOf = async (at = key) => (await cache.load([at]))[0]!.value?.toString() ?? null;

describe('the view cache', () => {
  it('reads a view once, until it hears that it changed; another listener hears it after that', async () => {
    await put('one');
    expect([await textOf(), await textOf(), reads]).toEqual(['one', 'one', 1]);
    const told: string[] = [];
    cache.onChange({
      changed: (changed) => void told.push(`${changed} ${cache.peek(changed) === undefined}`),
      allChanged: () => void told.push('all'),
    });
    await put('two');
    heard.changed(key);
    expect([await textOf(), reads]).toEqual(['two', 2]);
    heard.allChanged();
    expect(told).toEqual([`${key} true`, 'all']);
  });

  it('keeps no absence, so that made-up keys push nothing out, and no word that a tag is complete', async () => {
    for (let i = 0; i < 100; i++) expect(await textOf(rideKey(`made${i}`))).toBeNull();
    // Nothing is left of the read that found none.
    expect(await textOf()).toBeNull();
    await put('one');
    expect([await textOf(), cache.peek(key)?.value?.toString()]).toEqual(['one', 'one']);
    heard.changed(key);
    // Else a missing view would count as gone in a store that was emptied.
    await put('1', completeKey(3));
    expect(await textOf(completeKey(3))).toBe('1');
    expect([cache.bytes, cache.peek(completeKey(3))]).toEqual([0, undefined]);
  });

  it.each([
    ['its own change', () => heard.changed(key)],
    ['that anything may have changed', () => heard.allChanged()],
    ['that changes are no longer heard', () => heard.hearing(false)],
  ])('does not keep a reply that comes after word of %s', async (_what, tell) => {
    await put('old');
    const { promise, resolve } = Promise.withResolvers<void>();
    replies = promise;
    const slow = textOf();
    await new Promise(setImmediate);
    await put('new');
    tell();
    resolve();
    expect(await slow).toBe('old');
    expect(cache.peek(key)).toBeUndefined();
    heard.hearing(true);
    expect(await textOf()).toBe('new');
  });

  it('keeps nothing before changes are heard, and forgets all when they no longer are', async () => {
    cache = new ViewCache(reader);
    await put('one');
    await textOf();
    expect([cache.peek(key), cache.bytes]).toEqual([undefined, 0]);
    heard.hearing(true);
    await textOf();
    expect([cache.peek(key)?.value?.toString(), cache.bytes]).toEqual(['one', 3 * 3 + 400]);
    heard.hearing(false);
    expect([cache.peek(key), cache.bytes]).toEqual([undefined, 0]);
  });

  it('keeps nothing of a read that fails, which takes nothing from another one: the next one is kept', async () => {
    await put('one');
    replies = Promise.reject(new Error('away'));
    await expect(textOf()).rejects.toThrow('away');
    replies = Promise.resolve();
    expect([await textOf(), await textOf(), reads]).toEqual(['one', 'one', 2]);
    heard.changed(key);
    const { promise, reject } = Promise.withResolvers<void>();
    replies = promise;
    const slow = textOf();
    await new Promise(setImmediate);
    replies = Promise.resolve();
    heard.changed(key);
    expect(await textOf()).toBe('one');
    reject(new Error('away'));
    await expect(slow).rejects.toThrow('away');
    expect([await textOf(), reads]).toEqual(['one', 4]);
  });

  it('tells of each view that is looked up, each round trip, and what was found', async () => {
    const used: string[] = [];
    const took: [operation: string, seconds: number][] = [];
    cache = new ViewCache(reader, {
      onUsed: (looked) => used.push(looked),
      onRead: (operation, seconds) => took.push([operation, seconds]),
    });
    heard.hearing(true);
    await put('one');
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    const slow = cache.load([key, completeKeyOf(key)]);
    now.mockReturnValue(1_250);
    await slow;
    now.mockRestore();
    cache.peek(key);
    await cache.load([key]);
    await cache.fields('none', ['f']);
    expect(used).toEqual([key, completeKeyOf(key), key, key]);
    expect(took).toEqual([
      ['get', 0.25],
      ['fields', expect.any(Number)],
    ]);
    // A complete key is no view, and who peeks counts what is found.
    expect([cache.hits, cache.misses]).toEqual([1, 1]);
  });

  it('holds as many bytes as it may: the oldest make room', async () => {
    cache = new ViewCache(reader, { bytesMax: 2 * 409 });
    heard.hearing(true);
    const keys = ['aaaa', 'bbbb', 'cccc'].map(rideKey);
    for (const each of keys) {
      await put('one', each);
      await textOf(each);
    }
    expect(keys.map((each) => cache.peek(each) !== undefined)).toEqual([false, true, true]);
    expect(cache.bytes).toBe(2 * 409);
    for (const each of keys) heard.changed(each);
    expect(cache.bytes).toBe(0);
  });

  it('answers from nothing kept before it is known that the process was not paused', async () => {
    await put('before');
    expect([await textOf(), cache.peek(key)?.value?.toString()]).toEqual(['before', 'before']);
    await put('after');
    paused = true;
    expect([cache.peek(key), await textOf()]).toEqual([undefined, 'after']);
    await put('later');
    paused = true;
    expect(await textOf()).toBe('later');
  });
});
