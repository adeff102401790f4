import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import { redisLiveViews } from '../../../infra/redis/views/stored-views.ts';
import { Verification, type Verified } from '../../../projector/checking/verification.ts';
import { realClock } from '../../../projector/ports/clock.ts';
import type { EventLog } from '../../../projector/ports/event-log.ts';
import type { LiveViews } from '../../../projector/ports/live-views.ts';
import { silentLog } from '../../../projector/ports/log.ts';
import { viewFormat } from '../../../schemas/views/view-keys.ts';
import { freshKeyPrefix, redisUrl } from '../../support/servers/backends.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { dumpRedis, isView } from '../../support/stores/redis-dump.ts';
import { worldArb } from '../../support/worlds/histories.ts';

const numRuns = Number(process.env.RUNS ?? 4);
const redis = new Redis(redisUrl());
afterAll(() => redis.quit());

async function verify(eventLog: EventLog, live: LiveViews): Promise<Verified> {
  const { signal } = new AbortController();
  const verification = new Verification({ eventLog, live, clock: realClock, log: silentLog, signal });
  return verification.run().finally(() => verification.end());
}

/** `what key field`, of all that was found. */
const spelled = (verified: Verified, live: LiveViews): string[] =>
  verified.found
    .flatMap(({ differences }) => differences)
    .map(({ what, name, field }) => [what, live.spell(name), ...(field === undefined ? [] : [field])].join(' '))
    .sort();

/** Any one thing that somebody else could do to the store, by numbers that pick where. */
const damageArb = fc.record({
  do: fc.constantFrom('flip', 'flip', 'flip', 'delete', 'cut', 'lengthen', 'type', 'extra', 'misplaced', 'odd'),
  at: fc.nat(),
  byte: fc.nat(),
  bit: fc.nat(7),
});
type Damage = (typeof damageArb extends fc.Arbitrary<infer T> ? T : never) & object;

/** Puts a value or field there, as whatever it is. Null removes it. */
async function put(key: string, field: string | undefined, value: Buffer | null): Promise<void> {
  if (field === undefined) await (value ? redis.set(key, value) : redis.del(key));
  else await (value ? redis.hset(key, field, value) : redis.hdel(key, field));
}

/** Does one damage. Returns what ought to be found, and how to undo it. */
async function damage(
  prefix: string,
  names: readonly string[],
  { do: kind, at, byte, bit }: Damage,
): Promise<{ wanted: string; undo(): Promise<unknown> }> {
  const [key, field] = names[at % names.length]!.split(' ') as [string, string | undefined];
  const place = [key, ...(field === undefined ? [] : [field])].join(' ');
  const before = (field === undefined ? await redis.getBuffer(key) : await redis.hgetBuffer(key, field))!;
  const undo = () => put(key, field, before);
  switch (kind) {
    case 'flip': {
      const after = Buffer.from(before);
      after[byte % after.length]! ^= 1 << bit;
      await put(key, field, after);
      return { wanted: `different ${place}`, undo };
    }
    case 'delete':
      await put(key, field, null);
      return { wanted: `missing ${place}`, undo };
    case 'cut':
      await put(key, field, before.subarray(0, byte % before.length));
      return { wanted: `different ${place}`, undo };
    case 'lengthen':
      await put(key, field, Buffer.concat([before, Buffer.from([byte % 256])]));
      return { wanted: `different ${place}`, undo };
    case 'type': {
      const whole = await redis.dumpBuffer(key);
      await redis.multi().del(key).rpush(key, 'a list').exec();
      return { wanted: `wrong type ${key}`, undo: () => redis.restore(key, 0, whole, 'REPLACE') };
    }
    case 'extra': {
      const extra = field === undefined ? `${key}~` : key;
      const added = field === undefined ? undefined : 'o1999-01-01';
      const tag = field === undefined ? `extra ${extra}` : `extra ${extra} ${added}`;
      await put(extra, added, Buffer.alloc(byte % 3, 'x'));
      return { wanted: tag, undo: () => put(extra, added, null) };
    }
    case 'misplaced': {
      const moved = key.replace(/\{v(\d+)\}/, (_, tag) => `{v${(Number(tag) + 1 + (byte % 63)) % 64}}`);
      await redis.copy(key, moved);
      return { wanted: `extra ${moved}`, undo: () => redis.del(moved) };
    }
    case 'odd': {
      const odd = [
        `${prefix}g${viewFormat}:junk`,
        `${prefix}g${viewFormat}:pub:{v7}:junk:1`,
        `${prefix}g${viewFormat}:tag:{v7}:junk`,
        `${prefix}g${viewFormat}:x:{v99}:y`,
      ];
      const name = odd[byte % odd.length]!;
      await redis.set(name, '');
      return { wanted: `extra ${name}`, undo: () => redis.del(name) };
    }
  }
}

// P46
it('verify finds any one thing that is changed in the store, and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(worldArb(), fc.array(damageArb, { minLength: 12, maxLength: 12 }), async (history, damages) => {
      const prefix = freshKeyPrefix();
      const settings = { url: redisUrl(), cluster: false, keyPrefix: prefix };
      const writer = await redisViewWriter(settings);
      const live = await redisLiveViews(settings);
      const log = () => new MemoryEventLog(history);
      const running = startProjector(log(), writer);
      try {
        await running.ready();
        const healthy = await verify(log(), live);
        expect([spelled(healthy, live), healthy.unknown, healthy.otherFacts]).toEqual([[], [], false]);
        const names = [...(await dumpRedis(redis, prefix)).keys()].filter((name) => isView(name.slice(prefix.length)));
        for (const each of names.length === 0 ? [] : damages) {
          const { wanted, undo } = await damage(prefix, names, each);
          expect(spelled(await verify(log(), live), live), wanted).toEqual([wanted]);
          await undo();
        }
        expect(spelled(await verify(log(), live), live)).toEqual([]);
      } finally {
        await running.stop();
        await Promise.all([writer.close(), live.close()]);
        const stream = redis.scanStream({ match: `${prefix}*`, count: 5_000 });
        for await (const found of stream) if (found.length > 0) await redis.del(found);
      }
    }),
    { numRuns, seed: 46, endOnFailure: true },
  );
}, 120_000);
