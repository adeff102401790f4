import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { gone, rider } from '../../reference/example-log.ts';
import { type HttpService, json, startHttpService } from '../../support/processes/http-service.ts';
import type { RawAnswer } from '../../support/servers/raw-http.ts';
import { publicOperations, riderOperations, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';

/** The order of checks, the credentials and the errors (docs/rules.md#order-of-checks, #errors), over sockets. */

let service: HttpService;
beforeAll(async () => {
  service = await startHttpService();
});
afterAll(() => service.close());

const challenge =
  'Bearer resource_metadata="https://rides.example/.well-known/oauth-protected-resource/api", scope="read"';
const badTokenChallenge = `${challenge}, error="invalid_token"`;
const error = (code: string, input: string | null, detail: unknown) => ({ error: code, input, detail });
const text = expect.any(String);

function expectError(answer: RawAnswer, status: number, body: object): void {
  expect([answer.status, json(answer)]).toEqual([status, body]);
  // Nothing before or after, and the keys in the interface's order.
  expect(answer.body.toString()).toBe(JSON.stringify(json(answer)));
  expect(Object.keys(json(answer) as object)).toEqual(['error', 'input', 'detail']);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'content-length': String(answer.body.length),
  });
  expect(answer.headers).not.toHaveProperty('etag');
}

describe('a path that is no route', () => {
  it.each(['/', '/rides/loop/', '/me/', '/%zz'])(
    '%s is 404 with input null, whatever the method, credentials and body',
    async (path) => {
      for (const headers of [{}, withKey(), withToken(), withToken('dead')]) {
        expectError(await service.ask(path, headers), 404, error('not_found', null, text));
      }
      for (const method of ['POST', 'PROPFIND', 'OPTIONS', 'QUERY']) {
        expectError(await service.ask(path, withKey(), method), 404, error('not_found', null, text));
      }
      const wrongBody = { 'Content-Type': 'application/json' };
      expectError(await service.ask(path, wrongBody, 'POST', '{'), 404, error('not_found', null, text));
      const unknownType = { 'Content-Type': 'text/x-unknown' };
      expectError(await service.ask(path, unknownType, 'PUT', 'x'), 404, error('not_found', null, text));
    },
  );
});

describe.each(publicOperations)('$name', ({ path }) => {
  const noKey = error('invalid_key', null, 'no live developer key in X-Api-Key, and no live sign-in token');

  // docs/rules.md#401-on-a-public-read
  it('answers a missing, an unknown, a deleted and an odd key with the same 401, byte for byte', async () => {
    const keys = [smallWorld.unknownKey, smallWorld.deletedKey, '', 'x', 'rck_', 'é', `${smallWorld.liveKey}x`];
    const first = await service.ask(path);
    expectError(first, 401, noKey);
    expect(first.headers['www-authenticate']).toBe(challenge);
    const dateless = ({ lines }: RawAnswer) => lines.filter(([name]) => name !== 'Date');
    for (const key of [...keys, `${smallWorld.unknownKey}, ${smallWorld.liveKey}`]) {
      const answer = await service.ask(path, withKey(key));
      expect(answer.body).toEqual(first.body);
      expect(dateless(answer)).toEqual(dateless(first));
    }
  });

  // docs/rules.md#www-authenticate
  it('says error="invalid_token" in WWW-Authenticate exactly where a token was sent', async () => {
    for (const headers of [withToken('dead'), withToken(smallWorld.erasedRider), withToken('nobody')]) {
      const answer = await service.ask(path, headers);
      expectError(answer, 401, noKey);
      expect(answer.headers['www-authenticate']).toBe(badTokenChallenge);
      const withBoth = await service.ask(path, { ...headers, ...withKey(smallWorld.unknownKey) });
      expect([withBoth.status, withBoth.headers['www-authenticate']]).toEqual([401, badTokenChallenge]);
    }
    for (const authorization of ['Bearer', 'Basic YWRhOng=', 'ada', 'Bearerada', 'DPoP ada']) {
      const answer = await service.ask(path, { Authorization: authorization });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, challenge]);
    }
  });

  // docs/rules.md#public-reads
  it('is opened by a live key beside a bad token, and by a live token beside a bad key', async () => {
    const plain = await service.ask(path, withKey());
    expect(plain.status).toBe(200);
    for (const headers of [
      withToken(),
      { ...withKey(), ...withToken('dead') },
      { ...withKey(), ...withToken(smallWorld.erasedRider) },
      { ...withKey(), Authorization: 'Basic x' },
      { ...withKey(smallWorld.deletedKey), ...withToken() },
      { ...withKey(''), ...withToken() },
      { ...withKey(), ...withToken() },
    ]) {
      const answer = await service.ask(path, headers);
      expect(answer.status).toBe(200);
      // The same for every credential, headers too.
      expect(answer.body).toEqual(plain.body);
      expect({ ...answer.headers, date: '' }).toEqual({ ...plain.headers, date: '' });
    }
  });

  // docs/rules.md#order-of-checks
  it('judges the method before credentials, credentials before inputs, inputs before existence', async () => {
    const wrong = path.replace(/[^/]*$/, 'x').replace('pdx', 'nowhere');
    expect((await service.ask(wrong, {}, 'POST')).status).toBe(405);
    expect((await service.ask(wrong)).status).toBe(401);
    expect((await service.ask(wrong, withKey())).status).toBe(400);
    expect((await service.ask(wrong, { ...withKey(), 'If-None-Match': '*' })).status).toBe(400);
    const absent = path.replace('pdx', 'nowhere').replace('loop', 'nowhere');
    expect((await service.ask(absent)).status).toBe(401);
    expect((await service.ask(absent, { ...withKey(), 'If-None-Match': '*' })).status).toBe(404);
  });

  it('reads a key from its header only', async () => {
    expect((await service.ask(`${path}?X-Api-Key=${smallWorld.liveKey}&api_key=${smallWorld.liveKey}`)).status).toBe(
      401,
    );
    expect((await service.ask(`${path}?access_token=ada`)).status).toBe(401);
    expect((await service.ask(path, withToken(smallWorld.liveKey))).status).toBe(401);
  });
});

describe('getDay', () => {
  // docs/rules.md#unknown-metro
  it('404 names the metro, also of a day that is no day of any', async () => {
    expectError(
      await service.ask('/metros/nowhere/days/2015-06-13', withKey()),
      404,
      error('not_found', 'metro', 'no such metro'),
    );
  });
});

describe('getRide', () => {
  // docs/rules.md#posted
  it('404 for a ride that is not posted, that nobody published, or whose metro is unknown', async () => {
    await service.publish([]);
    for (const path of [smallWorld.unpostedRide, '/rides/unknown']) {
      expectError(await service.ask(path, withKey()), 404, error('not_found', 'ride', 'no such posted ride'));
    }
  });

  // docs/rules.md#path-decoding
  it('/rides/ is 400 for ride, one slash more another route', async () => {
    expectError(await service.ask('/rides/', withKey()), 400, error('invalid_request', 'ride', text));
    expectError(await service.ask('/rides//', withKey()), 404, error('not_found', null, text));
  });
});

describe.each(riderOperations)('$name', ({ name, path }) => {
  // docs/rules.md#401-on-me, #me
  it('answers 401 without a body where no live token is sent', async () => {
    const cases: [Record<string, string>, string][] = [
      [{}, challenge],
      [withKey(), challenge],
      [{ Authorization: 'Basic YWRhOng=' }, challenge],
      [{ Authorization: 'Bearer' }, challenge],
      [{ Authorization: 'ada' }, challenge],
      [withToken('dead'), badTokenChallenge],
      [{ ...withKey(), ...withToken('dead') }, badTokenChallenge],
      [withToken(smallWorld.liveKey), badTokenChallenge],
      [withToken(smallWorld.erasedRider), badTokenChallenge],
      [withToken('nobody'), badTokenChallenge],
    ];
    for (const [headers, wanted] of cases) {
      const answer = await service.ask(path, headers);
      expect([answer.status, answer.body.length]).toEqual([401, 0]);
      expect(answer.headers).toMatchObject({
        'www-authenticate': wanted,
        'cache-control': 'no-store',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
        'content-length': '0',
      });
      expect(answer.headers).not.toHaveProperty('content-type');
    }
  });

  // docs/rules.md#bearer
  it('takes no token from the query, a cookie, a body or the header of keys', async () => {
    const query = `${path}${path.includes('?') ? '&' : '?'}access_token=ada&token=ada&bearer=ada&authorization=ada`;
    expect((await service.ask(query)).status).toBe(401);
    for (const headers of [{ Cookie: 'access_token=ada' }, { 'X-Api-Key': 'ada' }] as Record<string, string>[]) {
      expect((await service.ask(path, headers)).status).toBe(401);
    }
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await service.ask(path, form, 'GET', 'access_token=ada')).status).toBe(401);
  });

  it.each(['bearer ada', 'BEARER ada', 'Bearer    ada'])('takes %j as a bearer token', async (authorization) => {
    const answer = await service.ask(path, { Authorization: authorization });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual((await service.ask(path, withToken())).body);
  });

  it('judges credentials before inputs, and inputs before existence', async () => {
    const bare = path.split('?')[0]!;
    expect((await service.ask(bare)).status).toBe(401);
    expect((await service.ask(bare, withToken(smallWorld.erasedRider))).status).toBe(401);
    // It takes no input.
    if (name === 'getMyNights') return;
    expect((await service.ask(`${bare}?metro=nowhere&from=2015-06-01`, withToken())).status).toBe(400);
    const absent = `${bare}?metro=nowhere&from=2015-06-01&to=2015-06-02`;
    expectError(await service.ask(absent, withToken()), 404, error('not_found', 'metro', 'no such metro'));
    expect((await service.ask(absent, withToken('dead'))).status).toBe(401);
    expect((await service.ask(absent, { ...withToken(), 'If-None-Match': '*' })).status).toBe(404);
  });
});

// docs/rules.md#live-token, #ended-tokens
it('a live token ends with its rider, at once, and lives again with them', async () => {
  const statuses = () =>
    Promise.all(['/me/nights', smallWorld.day].map(async (path) => (await service.ask(path, withToken('bo'))).status));
  expect(await statuses()).toEqual([200, 200]);
  await service.publish([gone('riders', 'bo')]);
  expect(await statuses()).toEqual([401, 401]);
  await service.publish([rider('bo')]);
  expect(await statuses()).toEqual([200, 200]);
});

describe('a fault of ours', () => {
  it.each([
    ['cut off', 'x'],
    ['empty', ''],
    ['of no form', 'no digest and no header, but for a while\n\n{}'],
    ['with a digest that no header may hold', `${'\n'.repeat(16)}{"zone":"UTC","days":[],"past":[]}\n\n{}`],
    ['in a zone that is none', `${'a'.repeat(16)}{"zone":"Mars","days":[1],"past":[0]}\n\n{}`],
  ])('is a stored view %s: 500 for it alone', async (_what, stored) => {
    const spoilt = await startHttpService();
    await spoilt.projector.lanes.add(tagOf('loop'), { kind: 'ride', id: 'loop', value: Buffer.from(stored) });
    await spoilt.projector.lanes.drain();
    for (let twice = 0; twice < 2; twice++) {
      const answer = await spoilt.ask(smallWorld.ride, withKey());
      expect([answer.status, answer.headers['content-type']]).toEqual([500, 'application/problem+json']);
      expect((await spoilt.ask(smallWorld.day, withKey())).status).toBe(200);
    }
    expect(spoilt.faults).toHaveLength(2);
    await spoilt.close();
  });

  it('is 500 as problem details, says nothing of what it is, and harms no other request', async () => {
    const broken = await startHttpService({ checker: { check: () => Promise.reject(new Error('Lantern Yard')) } });
    const answer = await broken.ask('/me/nights', withToken());
    expect([answer.status, answer.reason]).toEqual([500, 'Internal Server Error']);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
    });
    expect(json(answer)).toEqual({ title: 'Internal Server Error', status: 500, detail: text });
    expect(answer.body.toString()).not.toContain('Lantern');
    expect(broken.faults).toHaveLength(1);
    expect((await broken.ask(smallWorld.day, withKey())).status).toBe(200);
    await broken.close();
  });
});
