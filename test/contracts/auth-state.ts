import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StateStore } from '../../api/oauth/state-store.ts';

/** What every store of sign-in's state promises (api/oauth/state-store.ts). */
export function authStateContract(name: string, make: () => StateStore | Promise<StateStore>): void {
  describe(`sign-in's state in ${name}`, () => {
    let store: StateStore;
    beforeAll(async () => {
      store = await make();
    });
    afterAll(async () => {
      await store.close();
    });
    const life = { lifeSeconds: 60 };

    test('an entry is found as it was put, and only under its kind', async () => {
      const id = randomUUID();
      const payload = { text: 'ü🚲"', list: [1, null, { a: true }], 'm:x': 'no mark' };
      await store.put('A', id, payload, life);
      expect(await store.find('A', id)).toEqual(payload);
      expect(await store.find('B', id)).toBeNull();
      expect(await store.find('A', `${id}x`)).toBeNull();
    });

    test('what is found is a copy', async () => {
      const id = randomUUID();
      const payload = { list: [1] };
      await store.put('A', id, payload, life);
      payload.list.push(2);
      ((await store.find('A', id))!.list as number[]).push(3);
      expect(await store.find('A', id)).toEqual({ list: [1] });
    });

    test('an entry is gone when its life is over', async () => {
      const id = randomUUID();
      await store.put('A', id, {}, { lifeSeconds: 0.2, account: id });
      expect(await store.find('A', id)).not.toBeNull();
      await sleep(300);
      expect(await store.find('A', id)).toBeNull();
      expect(await store.take('A', id)).toBeNull();
      expect(await store.use('A', id)).toBeNull();
      expect(await store.find('A', id)).toBeNull();
      expect(await store.ofAccount(id)).toEqual([]);
    });

    test('an entry that is extended lives on, and one that is gone does not come back', async () => {
      const id = randomUUID();
      await store.put('A', id, { n: 1 }, { lifeSeconds: 0.3 });
      await store.extend('A', id, 60);
      await store.extend('A', `${id}x`, 60);
      await sleep(400);
      expect(await store.find('A', id)).toEqual({ n: 1 });
      expect(await store.find('A', `${id}x`)).toBeNull();
    });

    test('an entry put again is the new one, not used yet', async () => {
      const id = randomUUID();
      await store.put('A', id, { n: 1 }, life);
      await store.use('A', id);
      await store.put('A', id, { n: 2 }, life);
      expect(await store.find('A', id)).toEqual({ n: 2 });
      expect(await store.use('A', id)).toEqual({ uses: 1, sinceFirstMs: 0 });
    });

    test('of many who take an entry one gets it', async () => {
      const id = randomUUID();
      await store.put('A', id, { n: 1 }, life);
      const taken = await Promise.all(Array.from({ length: 8 }, () => store.take('A', id)));
      expect(taken.filter((entry) => entry !== null)).toEqual([{ n: 1 }]);
      expect(await store.find('A', id)).toBeNull();
    });

    test('each use of an entry is counted once, and says how long ago the first was', async () => {
      const id = randomUUID();
      await store.put('A', id, { n: 1 }, { lifeSeconds: 1 });
      const many = await Promise.all(Array.from({ length: 8 }, () => store.use('A', id)));
      expect(many.map((used) => used!.uses).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      await sleep(200);
      const ninth = (await store.use('A', id))!;
      expect([ninth.uses, ninth.sinceFirstMs >= 199]).toEqual([9, true]);
      expect(await store.find('A', id)).toEqual({ n: 1 });
      expect(await store.use('A', `${id}x`)).toBeNull();
      await sleep(900);
      expect(await store.use('A', id)).toBeNull();
    });

    test('an account finds its own entries, and no longer those put for another since, or removed', async () => {
      const [account, other] = [randomUUID(), randomUUID()];
      await store.put('Session', `${account}:1`, { n: 1 }, { ...life, account });
      await store.put('Grant', `${account}:2`, { n: 2 }, { ...life, account });
      await store.put('Session', `${account}:3`, { n: 3 }, { ...life, account });
      await store.put('Session', `${account}:4`, { n: 4 }, { ...life, account });
      await store.put('Session', `${account}:3`, { n: 3 }, { ...life, account: other });
      await store.remove('Session', `${account}:4`);
      const found = await store.ofAccount(account);
      expect(found.sort((a, b) => a.id.localeCompare(b.id))).toEqual([
        { kind: 'Session', id: `${account}:1`, payload: { n: 1 } },
        { kind: 'Grant', id: `${account}:2`, payload: { n: 2 } },
      ]);
      const accounts = new Set<string>();
      for await (const each of store.accounts()) accounts.add(each);
      expect(accounts).toContain(account);
      expect(accounts).toContain(other);
    });

    test('an account that is tidied keeps the entries it has, and is no account any more once it has none', async () => {
      const account = randomUUID();
      const known = async () => {
        const accounts = new Set<string>();
        for await (const each of store.accounts()) accounts.add(each);
        return accounts.has(account);
      };
      await store.put('Session', `${account}:1`, { n: 1 }, { ...life, account });
      await store.put('Session', `${account}:2`, { n: 2 }, { ...life, account });
      await store.remove('Session', `${account}:1`);
      await store.tidyAccount(account);
      expect((await store.ofAccount(account)).map(({ id }) => id)).toEqual([`${account}:2`]);
      expect(await known()).toBe(true);
      await store.take('Session', `${account}:2`);
      await store.tidyAccount(account);
      expect(await known()).toBe(false);
    });

    test('a counter adds up, and a reading adds nothing', async () => {
      const name = randomUUID();
      expect((await store.count(name, 1000, 0)).value).toBe(0);
      expect((await store.count(name, 1000, 1)).value).toBe(1);
      expect((await store.count(name, 1000, 2)).value).toBe(3);
      expect((await store.count(name, 1000, 0)).value).toBe(3);
      const short = randomUUID();
      await store.count(short, 1, 5);
      // A sixth more than its second.
      await sleep(1300);
      expect((await store.count(short, 1, 1)).value).toBe(1);
    });

    test('a counter forgets nothing before its time is over, whenever it began', async () => {
      const [name, other] = [randomUUID(), randomUUID()];
      for (let i = 0; i < 4; i++) {
        await sleep(170);
        const begunMs = Date.now();
        await store.count(`${name}${i}`, 1, 5);
        for (;;) {
          const { value } = await store.count(`${name}${i}`, 1, 0);
          if (Date.now() - begunMs >= 1000) break;
          expect(value).toBe(5);
          await sleep(50);
        }
      }
      expect((await store.count(other, 1, 0)).value).toBe(0);
    });

    test('a counter adds nothing that would take it beyond its most, so that it is free again in time', async () => {
      const name = randomUUID();
      expect((await store.count(name, 1000, 2, 2)).value).toBe(2);
      expect((await store.count(name, 1000, 1, 2)).value).toBe(3);
      expect((await store.count(name, 1000, 1, 2)).value).toBe(3);
      expect((await store.count(name, 1000, 0, 2)).value).toBe(2);
    });

    test('a full counter says when there is room again, and then there is', async () => {
      const name = randomUUID();
      expect((await store.count(name, 0.6, 1, 2)).waitMs).toBe(0);
      // In a later step.
      await sleep(250);
      expect((await store.count(name, 0.6, 1, 2)).waitMs).toBe(0);
      const [read, refused] = [await store.count(name, 0.6, 0, 2), await store.count(name, 0.6, 1, 2)];
      for (const { waitMs } of [read, refused]) {
        expect(waitMs).toBeGreaterThan(0);
        // What the first added makes room, not what the second did.
        expect(waitMs).toBeLessThanOrEqual(600);
      }
      await sleep(refused.waitMs + 5);
      expect(await store.count(name, 0.6, 1, 2)).toEqual({ value: 2, waitMs: 0 });
    });
  });
}
