import { X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';
import { certificateEndsMs } from '../../../infra/net/certificate-ends.ts';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { redisViewReader } from '../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import { viewStoreContract } from '../../contracts/view-store.ts';
import { freshKeyPrefix } from '../../support/servers/backends.ts';
import { makeCertificate } from '../../support/servers/certificate.ts';
import { type RedisCluster, startRedisCluster } from '../../support/servers/redis-cluster.ts';
import { lead } from '../../support/stores/lead.ts';

// Servers of their own that want TLS and credentials: no other of the run does.

const user = { name: 'rider', password: 'ty@re/7' };
const certificate = makeCertificate(['localhost', '127.0.0.1']);
const authorities = tls.getCACertificates('default');

let server: RedisServer;
let cluster: RedisCluster;
beforeAll(async () => {
  // What NODE_EXTRA_CA_CERTS does at the start of a process.
  tls.setDefaultCACertificates([...authorities, certificate.cert]);
  const rider = ['--user', user.name, 'on', `>${user.password}`, '~*', '&*', '+@all'];
  [server, cluster] = await Promise.all([
    startRedisServer({ tls: certificate, args: ['--user', 'default', 'off', ...rider] }),
    startRedisCluster({ tls: certificate, password: user.password }),
  ]);
});
afterAll(async () => {
  tls.setDefaultCACertificates(authorities);
  await Promise.all([server?.stop(), cluster?.stop()]);
});

const signedIn = (url: string, name = user.name, password = user.password): string =>
  url.replace('//', `//${name}:${encodeURIComponent(password)}@`);

viewStoreContract('redis cluster over TLS, signed in,', async () => {
  const settings = { url: signedIn(cluster.url, ''), cluster: true, keyPrefix: freshKeyPrefix() };
  const admins = cluster.nodes.map((node) => new Redis(signedIn(node.url, '')));
  return {
    writer: () => redisViewWriter(settings),
    reader: () => redisViewReader(settings),
    empty: async () => {
      for (const admin of admins) await admin.flushall();
    },
    close: async () => {
      for (const admin of admins) admin.disconnect();
    },
  };
});

test('sign-in keeps its state over TLS, signed in, in a Redis and in a Redis Cluster', async () => {
  for (const settings of [{ url: signedIn(server.url) }, { url: signedIn(cluster.url, ''), cluster: true }]) {
    const store = redisSignInState(settings);
    await store.put('A', 'x', { n: 1 }, { lifeSeconds: 60, account: 'ada' });
    expect(await store.take('A', 'x')).toEqual({ n: 1 });
    await store.close();
  }
  const endMs = new X509Certificate(certificate.cert).validToDate.getTime();
  expect(certificateEndsMs().get('AUTH_REDIS_URL')).toBe(endMs);
  expect(certificateEndsMs().get('REDIS_URL')).toBe(endMs);
});

/** What writing, readiness and sign-in's state say of a Redis. */
async function said(
  url: string,
  cluster: boolean,
): Promise<{ writing: string; reading: string; heard: string; signingIn: string }> {
  const settings = { url, cluster, keyPrefix: freshKeyPrefix() };
  const writer = await redisViewWriter(settings);
  const writing = await lead(writer).then(String, ({ message }: Error) => message);
  await writer.close();
  const reader = redisViewReader(settings);
  const reading = await vi.waitFor(
    async () => {
      const state = await reader.ready();
      expect(state).toMatchObject({
        ready: false,
        reason: expect.not.stringMatching('does not answer|cannot be reached'),
      });
      return state.ready ? '' : state.reason;
    },
    { timeout: 20_000 },
  );
  await reader.close();
  const heard: string[] = [];
  const store = redisSignInState({
    ...settings,
    commandTimeoutMs: 2_000,
    onError: ({ message }) => heard.push(message),
  });
  await expect(store.find('A', 'x')).rejects.toThrow("Sign-in's Redis ");
  await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0), { timeout: 20_000 });
  // By now no command is sent any more.
  await sleep(1_000);
  const signingIn = await store.find('A', 'x').then(String, ({ message }: Error) => message);
  await store.close();
  return { writing, reading, heard: heard[0]!, signingIn };
}

describe('a Redis that refuses', () => {
  test.each([
    ['no password', false, '', ''],
    ['a wrong password, as a cluster', true, '', 'wheel-9'],
  ])('%s is said to, with the setting and without the password', async (_, isCluster, name, password) => {
    const { url } = isCluster ? cluster : server;
    const { writing, reading, heard, signingIn } = await said(
      password ? signedIn(url, name, password) : url,
      isCluster,
    );
    expect(writing).toContain('Redis refuses the user and password of REDIS_URL');
    expect(reading).toContain('Redis refuses the user and password of REDIS_URL');
    expect(heard).toContain('it refuses the user and password of AUTH_REDIS_URL');
    expect(signingIn).toContain("Sign-in's Redis refuses the user and password of AUTH_REDIS_URL");
    expect([writing, reading, heard, signingIn].join()).not.toMatch(/wheel-9|ty(@|%40)re/);
  });

  test('is not trusted where nobody named its authority, and words say how to', async () => {
    tls.setDefaultCACertificates(authorities);
    try {
      const words = await said(signedIn(server.url), false);
      // Of a cluster, ioredis tells no reason.
      const writer = await redisViewWriter({ url: signedIn(cluster.url, ''), cluster: true, keyPrefix: 'x:' });
      const writing = await lead(writer).then(String, ({ message }: Error) => message);
      await writer.close();
      for (const one of [...Object.values(words), writing])
        expect(one).toMatch(/certificate is not trusted .*NODE_EXTRA_CA_CERTS/);
    } finally {
      tls.setDefaultCACertificates([...authorities, certificate.cert]);
    }
  });

  test('shows a certificate that has ended: readiness and the log say so', async () => {
    const ended = makeCertificate(['localhost', '127.0.0.1'], -1);
    tls.setDefaultCACertificates([...authorities, ended.cert]);
    const late = await startRedisServer({ tls: ended });
    try {
      const words = await said(late.url, false);
      const { heard, ...others } = words;
      for (const one of Object.values(others)) expect(one).toContain('a certificate that has ended (CERT_HAS_EXPIRED)');
      expect(heard).toBe('certificate has expired');
    } finally {
      tls.setDefaultCACertificates([...authorities, certificate.cert]);
      await late.stop();
    }
  });

  test('a client without TLS is said to want TLS', async () => {
    const writer = await redisViewWriter({
      url: signedIn(server.url).replace('rediss:', 'redis:'),
      cluster: false,
      keyPrefix: freshKeyPrefix(),
    });
    await vi.waitFor(() => expect(lead(writer)).rejects.toThrow('if it wants TLS, write rediss:// in REDIS_URL'), {
      timeout: 20_000,
    });
    await writer.close();
  });
});
