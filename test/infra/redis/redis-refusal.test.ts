import { describe, expect, it } from 'vitest';
import {
  missingRight,
  missingRights,
  redisAway,
  redisRefusal,
  signInRights,
} from '../../../infra/redis/redis-refusal.ts';
import { signInScripts } from '../../../infra/redis/sign-in/sign-in-scripts.ts';
import { beatScript, lookScript } from '../../../infra/redis/views/tags-at-once.ts';
import { commitScript, freeScript, takeScript } from '../../../infra/redis/views/view-scripts.ts';

describe('whether it helps to wait for a Redis that refuses', () => {
  const refusal = (message: string, cluster: boolean) =>
    redisRefusal(new Error(message), { setting: 'REDIS_URL', cluster });

  it.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', /password of REDIS_URL/],
    ['NOAUTH Authentication required.', /password of REDIS_URL/],
    ['ERR Protocol error: unauthenticated multibulk length', /password of REDIS_URL/],
    ["NOPERM User rider has no permissions to run the 'client|ID' command", /grant it \+client\|id \(ACL SETUSER\)$/],
    ["The user executing the script can't run this command or subcommand", /grant it \+get \+mget \+getrange .*\+info/],
    ['NOPERM No permissions to access a key', /grant it ~<REDIS_KEY_PREFIX>\*/],
    ['NOPERM No permissions to access a channel', /grant it &__redis__:invalidate/],
  ])('it does after %s', (message, words) => {
    for (const cluster of [false, true])
      expect(refusal(message, cluster)).toEqual({ words: expect.stringMatching(words), ends: false });
  });

  it('it does not where REDIS_CLUSTER is wrong; a cluster that fails over answers MOVED for a while', () => {
    const moved = 'MOVED 866 127.0.0.1:7001';
    expect(refusal(moved, false)).toEqual({ words: 'is a Redis Cluster; set REDIS_CLUSTER=true', ends: true });
    expect(refusal(moved, true)).toBeNull();
    expect(refusal('ERR This instance has cluster support disabled', true)?.ends).toBe(true);
    expect(refusal('ERR unknown command', false)).toBeNull();
  });

  it.each([
    ...[
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => [
      code,
      `can't be trusted: the server's certificate is not trusted (${code}); name a PEM file with its authority's in NODE_EXTRA_CA_CERTS`,
    ]),
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      "can't be trusted: the server's certificate is for another name; in AUTH_REDIS_URL",
    ],
  ])('it does not after %s, also where a cluster client tells of a node’s', (code, words) => {
    const untrusted = Object.assign(new Error('untrusted'), { code });
    const ofNode = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: untrusted });
    for (const error of [untrusted, ofNode])
      expect(redisRefusal(error, { setting: 'AUTH_REDIS_URL', cluster: true })).toEqual({
        words: expect.stringContaining(words),
        ends: true,
      });
  });
});

it('the rights that a user lacks are told once each', () => {
  const lacks = (command: string) => new Error(`NOPERM User rider has no permissions to run the '${command}' command`);
  const errors = [lacks('mget'), lacks('mget'), new Error('Connection is closed.'), null, lacks('info')];
  expect(missingRights(errors)).toContain('lacks +mget, +info: grant it');
  expect(missingRights(errors.slice(2, 4))).toBeNull();
});

it.each([
  ['projectors', [beatScript, lookScript, commitScript, freeScript, takeScript].map(({ source }) => source), undefined],
  ['sign-in', Object.values(signInScripts).map(({ lua }) => lua), signInRights],
])('where Redis does not name the command of a script, the rights of all of %s are told', (_, scripts, rights) => {
  const calls = /call\((?:op == 'h' and )?'(\w+)'(?: or '(\w+)')?/g;
  const called = scripts.flatMap((script) =>
    [...script.matchAll(calls)].flatMap(([, ...names]) => names.filter(Boolean)),
  );
  const told = missingRight(new Error("The user executing the script can't run this command"), rights)!.split(' ');
  expect(called.length).toBeGreaterThan(10);
  expect(told).toEqual(expect.arrayContaining(called.map((name) => `+${name.toLowerCase()}`)));
});

describe('why a Redis cannot be used now', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", /^is full \(OOM\); raise its maxmemory$/],
    ["ERR Error running script: OOM command not allowed when used memory > 'maxmemory'", /^is full/],
    ["READONLY You can't write against a read only replica.", /^is a replica, .* name its master$/],
    ['MISCONF Redis is configured to save RDB snapshots, but it cannot', /^cannot save to its disk/],
    ['BUSY Redis is busy running a script.', /^is busy .* \(BUSY\); end it with SCRIPT KILL$/],
    ['LOADING Redis is loading the dataset in memory', /^is still loading its data \(LOADING\)$/],
    ['CLUSTERDOWN Hash slot not served', /^lacks some masters/],
    ['MASTERDOWN Link with MASTER is down', /^is a replica that has lost its master \(MASTERDOWN\)$/],
    ['NOREPLICAS Not enough good replicas to write.', /^takes no writes, because too few replicas .* \(NOREPLICAS\)$/],
    ['TRYAGAIN Multiple keys request during rehashing of slot', /^is moving slots between its masters.*\(TRYAGAIN\)$/],
    ['auth.internal:6379 said something new', /^does not answer$/],
  ])('is what it answers: %s', (message, words) => {
    expect(redisAway(new Error('outer', { cause: new Error(message) }))).toMatch(words);
  });

  it.each([
    ['CERT_HAS_EXPIRED', /^shows a certificate that has ended .*; renew it$/],
    ['CERT_NOT_YET_VALID', /^shows a certificate that is not valid yet .*; look at both clocks$/],
  ])('is %s', (code, words) => {
    expect(redisAway(Object.assign(new Error('of a certificate'), { code }))).toMatch(words);
  });

  it('names no address, which network errors do', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:6379'), { code: 'ECONNREFUSED' });
    const cluster = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: refused });
    for (const error of [refused, cluster]) expect(redisAway(error)).toBe('cannot be reached (ECONNREFUSED)');
    const closed = Object.assign(new Error('...'), { code: 'ERR_SOCKET_CLOSED' });
    for (const error of [closed, undefined]) expect(redisAway(error)).toBe('does not answer');
  });
});
