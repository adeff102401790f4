import { afterEach, describe, expect, it } from 'vitest';
import { allTags, completeKey, tagOf } from '../../../schemas/views/view-keys.ts';
import { nightKey, parseKey, rideKey, riderKey } from '../../../schemas/views/view-kinds.ts';
import { type HttpService, json, startHttpService } from '../../support/processes/http-service.ts';
import { valueWrite } from '../../support/stores/view-names.ts';
import { riderOperations, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';
import { keyHash } from '../../support/worlds/universe.ts';

/**
 * Absence counts only where the store is known to be complete (docs/rules.md#absence): what is missing from an
 * incomplete tag is 503, and never a 404, a 401, an empty day or a shorter list. Over sockets.
 */

let service: HttpService | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
});

/** Takes back the word that some tags are complete, and deletes views. */
async function lose(tags: readonly number[], keys: readonly string[] = []): Promise<HttpService> {
  service ??= await startHttpService();
  for (const tag of tags) await service.projector.lanes.add(tag, valueWrite(completeKey(tag), null));
  for (const key of keys) await service.projector.lanes.add(parseKey(key).tag, valueWrite(key, null));
  await service.projector.lanes.drain();
  return service;
}

const tagOfKey = (text: string): number => tagOf(keyHash(text).toString('hex'));
const allBut = (...tags: number[]): number[] => allTags.filter((tag) => !tags.includes(tag));

async function expectUnavailable(from: HttpService, path: string, headers: Record<string, string>): Promise<void> {
  for (const method of ['GET', 'HEAD']) {
    const answer = await from.ask(path, headers, method);
    expect([path, answer.status, answer.reason]).toEqual([path, 503, 'Service Unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
    });
    expect(answer.headers).not.toHaveProperty('www-authenticate');
    if (method === 'GET') {
      expect(json(answer)).toEqual({ title: 'Service Unavailable', status: 503, detail: expect.any(String) });
    }
  }
}

describe('in an incomplete tag', () => {
  it('a developer key that is not there is 503, no 401', async () => {
    const from = await lose([tagOfKey(smallWorld.unknownKey)]);
    await expectUnavailable(from, smallWorld.day, withKey(smallWorld.unknownKey));
    await expectUnavailable(from, smallWorld.ride, withKey(smallWorld.unknownKey));
    // Not even whether inputs are wrong is said to whoever may not know.
    await expectUnavailable(from, '/rides/x', withKey(smallWorld.unknownKey));
    expect((await from.ask(smallWorld.day, withKey())).status).toBe(200);
    expect((await from.ask(smallWorld.day)).status).toBe(401);
    // Beside a live token it does not matter.
    expect((await from.ask(smallWorld.day, { ...withKey(smallWorld.unknownKey), ...withToken() })).status).toBe(200);
  });

  it("a token's rider who is not there is 503, no 401", async () => {
    const from = await lose([tagOf('nobody')]);
    await expectUnavailable(from, smallWorld.day, withToken('nobody'));
    for (const { path } of riderOperations) await expectUnavailable(from, path, withToken('nobody'));
    await expectUnavailable(from, '/me/known', withToken('nobody'));
    expect((await from.ask(smallWorld.day, { ...withKey(), ...withToken('nobody') })).status).toBe(200);
  });

  it('a key and a rider that are not there are 503 where one of them is not known for sure', async () => {
    const both = { ...withKey(smallWorld.unknownKey), ...withToken('nobody') };
    const from = await lose([tagOf('nobody')]);
    expect(tagOf('nobody')).not.toBe(tagOfKey(smallWorld.unknownKey));
    await expectUnavailable(from, smallWorld.day, both);
  });

  it('a ride that is not there is 503, no 404', async () => {
    const from = await lose([tagOf('unknown')]);
    await expectUnavailable(from, '/rides/unknown', withKey());
    await expectUnavailable(from, '/rides/unknown', { ...withKey(), 'If-None-Match': '*' });
    // A wrong input is one whatever the store knows.
    expect((await from.ask('/rides/x', withKey())).status).toBe(400);
  });

  it('a ride whose view was lost is 503, and is answered again once it is back', async () => {
    const from = await lose([tagOf('loop')], [rideKey('loop')]);
    await expectUnavailable(from, smallWorld.ride, withKey());
  });

  it('a metro that is not there is 503, no 404', async () => {
    const from = await lose([tagOf('nowhere')]);
    await expectUnavailable(from, '/metros/nowhere/days/2015-06-13', withKey());
    for (const { path, name } of riderOperations) {
      if (name !== 'getMyNights') await expectUnavailable(from, path.replace('pdx', 'nowhere'), withToken());
    }
  });

  it('a day without a view is 503, no empty day', async () => {
    const from = await lose([tagOf('pdx/2015-06-20')]);
    expect(tagOf('pdx/2015-06-20')).not.toBe(tagOf('pdx'));
    await expectUnavailable(from, smallWorld.emptyDay, withKey());
    await expectUnavailable(from, `${smallWorld.emptyDay}?q=loop`, withKey());
  });

  it("a rider's own views that are not there are 503, no shorter list", async () => {
    const from = await lose([tagOf('ada')]);
    expect(new Set([tagOf('ada'), tagOf('pdx')]).size).toBe(2);
    for (const { path } of riderOperations) await expectUnavailable(from, path, withToken());
  });

  it('a night that a rider view names and that is not there is 503, no shorter list', async () => {
    const from = await lose([tagOf('loop/2015-06-13')], [nightKey('loop', '2015-06-13')]);
    for (const { path } of riderOperations) await expectUnavailable(from, path, withToken());
  });

  it('a card that a rider view names and that is not there is 503, no shorter list', async () => {
    const from = await lose([tagOf('cy')], [riderKey('cy')]);
    for (const { path } of riderOperations) await expectUnavailable(from, path, withToken());
  });

  it('what is there is answered all the same', async () => {
    const from = await lose(allBut(tagOf('ada')));
    expect((await from.ask(smallWorld.day, withKey())).status).toBe(200);
    expect((await from.ask(smallWorld.day, withToken())).status).toBe(200);
    expect((await from.ask(smallWorld.ride, withKey())).status).toBe(200);
    for (const { path } of riderOperations) expect((await from.ask(path, withToken())).status).toBe(200);
  });
});

describe('in a complete tag', () => {
  it('what is missing is gone, though every other tag is incomplete', async () => {
    const from = await lose(allBut(tagOf('unknown')));
    expect((await from.ask('/rides/unknown', withKey())).status).toBe(404);
    await from.close();
    service = undefined;
    const other = await lose(allBut(tagOf('pdx/2015-06-20')));
    expect((await other.ask(smallWorld.emptyDay, withKey())).status).toBe(200);
  });

  it('a night and a card that are gone make the list shorter', async () => {
    const from = await lose([], [nightKey('loop', '2015-06-13')]);
    for (const { path } of riderOperations) {
      const answer = await from.ask(path, withToken());
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.body.toString()).not.toContain('"day":"2015-06-13"');
    }
  });
});

describe('an emptied store', () => {
  it('is 503 for all that needs it, at once and until it is complete again', async () => {
    const from = await lose([]);
    expect((await from.ask(smallWorld.day, withKey())).status).toBe(200);
    from.memory.empty();
    for (const headers of [withKey(), withKey(smallWorld.unknownKey), withToken()]) {
      await expectUnavailable(from, smallWorld.day, headers);
      await expectUnavailable(from, smallWorld.ride, headers);
    }
    for (const { path } of riderOperations) await expectUnavailable(from, path, withToken());
    expect((await from.ask('/openapi.json')).status).toBe(200);
    expect((await from.ask('/nowhere')).status).toBe(404);
    expect((await from.ask(smallWorld.day)).status).toBe(401);
    expect((await from.ask('/me/nights')).status).toBe(401);
    expect((await from.ask('/me/nights', withToken('dead'))).status).toBe(401);
    expect((await from.ask(smallWorld.day, {}, 'OPTIONS')).status).toBe(204);
  });
});
