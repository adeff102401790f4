import { describe, expect, it } from 'vitest';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { encodeView } from '../../../schemas/views/view-values.ts';
import { json, startHttpService } from '../../support/processes/http-service.ts';
import type { RawAnswer } from '../../support/servers/raw-http.ts';
import { publicOperations, riderOperations, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';
import { expectFailure } from './expect-failure.ts';

/** The order of checks, the credentials and the errors (docs/rules.md#order-of-checks, #errors), over sockets. */

// As a token is checked whose signature must be verified.
const service = await startHttpService({ checker: { check: async (token) => (token === 'dead' ? null : token) } });

const challenge =
  'Bearer resource_metadata="https://rides.example/.well-known/oauth-protected-resource/api", scope="read"';
const badTokenChallenge = `${challenge}, error="invalid_token"`;
const error = (code: string, input: string | null, detail: unknown) => ({ error: code, input, detail });
const reason = expect.stringMatching(/^is not a (date|ride id)/);

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

describe.each(publicOperations)('$name', ({ name, path }) => {
  const noKey = error('invalid_key', null, 'no live developer key in X-Api-Key, and no live sign-in token');

  // docs/rules.md#401-on-a-public-read
  it('answers a missing, an unknown, a deleted and an odd key with the same 401, byte for byte', async () => {
    const keys = [smallWorld.unknownKey, smallWorld.deletedKey, '', 'x', 'rck_', 'é', `${smallWorld.liveKey}x`];
    const first = await service.ask(path);
    expectError(first, 401, noKey);
    expect(first.headers['www-authenticate']).toBe(challenge);
    const dateless = ({ lines }: RawAnswer) => lines.filter(([field]) => field !== 'Date');
    for (const key of [...keys, `${smallWorld.unknownKey}, ${smallWorld.liveKey}`]) {
      const answer = await service.ask(path, withKey(key));
      expect([answer.body, dateless(answer)]).toEqual([first.body, dateless(first)]);
    }
  });

  // docs/rules.md#www-authenticate
  it('says error="invalid_token" in WWW-Authenticate exactly where a token was sent', async () => {
    for (const headers of [withToken('dead'), { ...withToken(smallWorld.erasedRider), ...withKey('x') }]) {
      const answer = await service.ask(path, headers);
      expectError(answer, 401, noKey);
      expect(answer.headers['www-authenticate']).toBe(badTokenChallenge);
    }
    for (const authorization of ['Bearer', 'Basic YWRhOng=', 'Bearerada', 'xBearer ada']) {
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
      { ...withKey(), Authorization: 'Basic x' },
      { ...withKey(smallWorld.deletedKey), ...withToken() },
    ]) {
      const answer = await service.ask(path, headers);
      // The same for every credential, headers too.
      expect([answer.status, answer.body]).toEqual([200, plain.body]);
      expect({ ...answer.headers, date: '' }).toEqual({ ...plain.headers, date: '' });
    }
  });

  // docs/rules.md#order-of-checks, #posted, #unknown-metro
  it('judges the method before credentials, credentials before inputs, inputs before existence', async () => {
    const wrong = path.replace(/[^/]*$/, 'x').replace('pdx', 'nowhere');
    expect((await service.ask(wrong, {}, 'POST')).status).toBe(405);
    expect((await service.ask(wrong)).status).toBe(401);
    const input = name === 'getDay' ? 'day' : 'ride';
    expectError(await service.ask(wrong, withKey()), 400, error('invalid_request', input, reason));
    for (const unknown of ['nowhere', 'hidden']) {
      const absent = path.replace('pdx', unknown).replace('loop', unknown);
      expect((await service.ask(absent)).status).toBe(401);
      const [missing, detail] = name === 'getDay' ? ['metro', 'no such metro'] : ['ride', 'no such posted ride'];
      const answer = await service.ask(absent, { ...withKey(), 'If-None-Match': '*' });
      expectError(answer, 404, error('not_found', missing, detail));
    }
  });

  it('reads a key from its header only', async () => {
    for (const query of [`X-Api-Key=${smallWorld.liveKey}&api_key=${smallWorld.liveKey}`, 'access_token=ada'])
      expect((await service.ask(`${path}?${query}`)).status).toBe(401);
    expect((await service.ask(path, withToken(smallWorld.liveKey))).status).toBe(401);
  });
});

describe.each(riderOperations)('$name', ({ name, path }) => {
  // docs/rules.md#401-on-me, #me
  it('answers 401 without a body where no live token is sent', async () => {
    for (const [headers, wanted] of [
      [withKey(), challenge],
      [{ Authorization: 'Basic YWRhOng=' }, challenge],
      [{ ...withKey(), ...withToken('dead') }, badTokenChallenge],
      [withToken(smallWorld.erasedRider), badTokenChallenge],
    ] as [Record<string, string>, string][]) {
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
  it('takes a bearer token in any case, from its header alone', async () => {
    const plain = await service.ask(path, withToken());
    for (const authorization of ['bearer ada', 'BEARER ada', 'Bearer    ada', 'Bearer ada  ']) {
      const answer = await service.ask(path, { Authorization: authorization });
      expect([answer.status, answer.body]).toEqual([200, plain.body]);
    }
    expect((await service.ask(path, { Authorization: 'Bearer ada x' })).status).toBe(401);
    const query = `${path}${path.includes('?') ? '&' : '?'}access_token=ada&token=ada&bearer=ada&authorization=ada`;
    expect((await service.ask(query)).status).toBe(401);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: 'access_token=ada' };
    expect((await service.ask(path, form, 'GET', 'access_token=ada')).status).toBe(401);
  });

  // One operation has no input that could be wrong.
  if (name !== 'getMyNights')
    it('judges credentials before inputs, and inputs before existence', async () => {
      const bare = path.split('?')[0]!;
      expect((await service.ask(bare, withToken(smallWorld.erasedRider))).status).toBe(401);
      const short = await service.ask(`${bare}?metro=nowhere&from=2015-06-01`, withToken());
      expectError(short, 400, error('invalid_request', 'to', 'is missing'));
      const absent = `${bare}?metro=nowhere&from=2015-06-01&to=2015-06-02`;
      const answer = await service.ask(absent, { ...withToken(), 'If-None-Match': '*' });
      expectError(answer, 404, error('not_found', 'metro', 'no such metro'));
    });
});

const spoiltDigest = encodeView({ zone: 'UTC', days: [], past: [] }, Buffer.from('{}')).fill('\n', 0, 1);
it.each([
  ['of no form', Buffer.from('no digest and no header, but for a while\n\n{}')],
  ['whose digest is no header', spoiltDigest],
])(
  'a stored view %s is 500 as problem details, says nothing of what it is, and harms no other request',
  async (_, value) => {
    const told: number[] = [];
    const spoilt = await startHttpService({ onAnswer: (_operation, status) => void told.push(status) });
    await spoilt.projector.lanes.add(tagOf('loop'), { kind: 'ride', id: 'loop', value });
    await spoilt.projector.lanes.drain();
    // From the store, then from what is kept.
    for (const answer of [await spoilt.ask(smallWorld.ride, withKey()), await spoilt.ask(smallWorld.ride, withKey())])
      expectFailure(answer, 500, 'Something went wrong here; the request may be sent again.');
    expect((await spoilt.ask(smallWorld.day, withKey())).status).toBe(200);
    expect([spoilt.faults.length, told]).toEqual([2, [500, 500, 200]]);
  },
);
