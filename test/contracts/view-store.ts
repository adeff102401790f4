import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ViewReader } from '../../api/ports/view-reader.ts';
import type { StoredView, ViewWriter } from '../../projector/ports/view-writer.ts';
import { readerKey } from '../../schemas/views/reader-fields.ts';
import { allTags, completeKey } from '../../schemas/views/view-keys.ts';
import { parseKey, rideKey } from '../../schemas/views/view-kinds.ts';
import { digestLength, encodeView } from '../../schemas/views/view-values.ts';
import { complete, lead } from '../support/stores/lead.ts';
import { fieldsWrite, keyOf, valueWrite } from '../support/stores/view-names.ts';

/** A store of its own for one test file: empty at first. */
export interface ViewStoreFixture {
  writer(): Promise<ViewWriter>;
  reader(): ViewReader;
  /** Loses everything at once, as FLUSHALL does. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const ride = rideKey('ride1');
const { tag } = parseKey(ride);
const view = (text: string): Buffer => encodeView({}, Buffer.from(text));

const listed = async (writer: ViewWriter, tags: readonly number[]): Promise<Map<string, StoredView>> =>
  new Map((await Array.fromAsync(writer.list(tags))).map((stored) => [keyOf(stored.tag, stored), stored]));

/** A store for the tests of one suite: emptied after each, which closes what the test has opened. */
export function storeFor(makeFixture: () => Promise<ViewStoreFixture>) {
  let store: ViewStoreFixture;
  const open: { close(): Promise<void> }[] = [];
  const opened = <T extends { close(): Promise<void> }>(made: T): T => {
    open.push(made);
    return made;
  };
  beforeAll(async () => {
    store = await makeFixture();
  });
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
    await store.empty();
  });
  afterAll(() => store.close());
  const writer = async (): Promise<ViewWriter> => opened(await store.writer());
  return {
    writer,
    async leader(): Promise<ViewWriter> {
      const made = await writer();
      await lead(made);
      return made;
    },
    reader: (): ViewReader => opened(store.reader()),
    empty: () => store.empty(),
  };
}

/** The promises of projector/ports/view-writer.ts and api/ports/view-reader.ts, which every adapter keeps. */
export function viewStoreContract(name: string, makeFixture: () => Promise<ViewStoreFixture>): void {
  describe(`${name} as a view store`, () => {
    const { leader, reader, empty } = storeFor(makeFixture);

    // docs/rules.md#batch
    it('writes a batch whole: sets, deletes, fields and removed fields; what is absent is null', async () => {
      const w = await leader();
      const reader1 = readerKey('rider1');
      const readerTag = parseKey(reader1).tag;
      await w.commit(readerTag, [fieldsWrite(reader1, { 'o2026-01-01': 'a=1', 'o2026-01-02': 'b=1' })]);
      const [removed, added] = [{ 'o2026-01-01': null }, { 'f2026-01-01': 'ä:r=1' }];
      await w.commit(readerTag, [fieldsWrite(reader1, removed), fieldsWrite(reader1, added)]);
      const bytes = Buffer.concat([view('x'), Buffer.from([0, 255, 10, 13])]);
      expect(await w.commit(tag, [valueWrite(ride, bytes)])).toMatchObject({ committed: true });
      const r = reader();
      await complete(w, allTags);
      // A guard that has not looked for a while trusts nothing until it has.
      await expect.poll(() => r.get([ride, rideKey('other')]).catch(() => null)).toEqual([bytes, null]);
      const found = await r.fields(reader1, ['o2026-01-01', 'o2026-01-02', 'f2026-01-01']);
      expect(found.map((bytes) => bytes && String(bytes))).toEqual([null, 'b=1', 'ä:r=1']);
      await w.commit(tag, [valueWrite(ride, null)]);
      expect(await r.get([ride])).toEqual([null]);
    });

    it('writes fields of any length, and a thousand at once', async () => {
      const w = await leader();
      const key = readerKey('rider1');
      const lengths = [0, 1, 31, 32, 255, 256, 65_535, 65_536, 200_000];
      const texts = Object.fromEntries(lengths.map((length) => [`f${length}`, 'ä'.repeat(length / 2)]));
      const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`o${i}`, `ride${i}=1`]));
      await w.commit(parseKey(key).tag, [fieldsWrite(key, texts), fieldsWrite(key, many)]);
      const all = { ...texts, ...many };
      const [stored] = await w.read([{ tag: parseKey(key).tag, kind: 'reader', id: 'rider1' }]);
      const fields = stored?.kind === 'reader' ? [...(stored.fields ?? [])] : [];
      expect(Object.fromEntries(fields.map(([field, value]) => [field, String(value)]))).toEqual(all);
      // What replaces them is all that there is.
      await w.commit(parseKey(key).tag, [{ ...fieldsWrite(key, { o1: 'a=1' }), replaces: true }]);
      expect(await w.read([{ tag: parseKey(key).tag, kind: 'reader', id: 'rider1' }])).toMatchObject([
        { fields: new Map([['o1', Buffer.from('a=1')]]) },
      ]);
    });

    it('lists keys with digests, or whole, and hashes with fields, of the tags asked for, and reads them by their names', async () => {
      const w = await leader();
      const value = view('listed');
      const hash = readerKey('rider1');
      await w.commit(tag, [valueWrite(ride, value)]);
      await w.commit(parseKey(hash).tag, [fieldsWrite(hash, { 'o2026-01-01': 'a=1' })]);
      const all = await listed(w, allTags);
      expect([...all.keys()].sort()).toEqual([hash, ride].sort());
      const whole = { tag, kind: 'ride', id: 'ride1', bytes: value, whole: true };
      expect(all.get(ride)).toEqual({ ...whole, bytes: value.subarray(0, digestLength), whole: false });
      const fields = new Map([['o2026-01-01', Buffer.from('a=1')]]);
      expect(all.get(hash)).toEqual({ ...parseKey(hash), fields });
      expect([...(await listed(w, [tag])).keys()]).toEqual([ride]);
      expect(await Array.fromAsync(w.list([tag], true))).toEqual([whole]);
      const names = [ride, rideKey('other'), hash].map((key) => parseKey(key));
      expect(await w.read(names)).toEqual([whole, null, all.get(hash)]);
    });

    // docs/rules.md#ready-api
    it('keeps what a tag is told: stamped as complete for the process that answers, and is ready once every tag is', async () => {
      const w = await leader();
      const asked = await w.commit(tag, [], { stamp: '' });
      expect(asked).toMatchObject({ committed: true, process: expect.stringMatching(/./) });
      expect(await w.commit(tag, [], {})).toMatchObject({ committed: true });
      const r = reader();
      for (const each of allTags) if (each !== tag) await complete(w, [each]);
      expect(await r.ready()).toMatchObject({ ready: false });
      await complete(w, [tag]);
      await expect.poll(() => r.ready()).toMatchObject({ ready: true });
      expect(await r.get([completeKey(tag)])).toEqual([expect.any(Buffer)]);
    });

    it('lets readers hear of every change to the public layer and of an emptied store, and of nothing of riders', async () => {
      const w = await leader();
      const r = reader();
      const heard = { keys: [] as string[], all: 0, hears: false };
      r.listen({
        changed: (key) => void heard.keys.push(key),
        allChanged: () => void heard.all++,
        hearing: (hears) => void Object.assign(heard, { hears }),
      });
      const beat = async (): Promise<boolean> => {
        for (const each of allTags) await w.commit(each, []);
        return heard.hears;
      };
      await expect.poll(beat).toBe(true);
      heard.keys = [];
      await w.commit(tag, [valueWrite(ride, view('1'))]);
      await expect.poll(() => heard.keys).toContain(ride);
      const hash = readerKey('rider1');
      await w.commit(parseKey(hash).tag, [fieldsWrite(hash, { 'o2026-01-01': 'a=1' })]);
      await w.commit(tag, [valueWrite(ride, null)]);
      await expect.poll(() => heard.keys).toEqual([ride, ride]);
      const before = heard.all;
      await empty();
      await expect.poll(() => heard.all).toBeGreaterThan(before);
    });
  });
}
