import { X509Certificate } from 'node:crypto';
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

/** Asks for all three parts until each says why it is refused. Returns all that was said and logged. */
async function said(url: string, isCluster: boolean, words: (setting: string) => string): Promise<string> {
  const settings = { url, cluster: isCluster, keyPrefix: freshKeyPrefix() };
  const all: string[] = [];
  const onError = ({ message }: Error) => void all.push(message);
  const writer = await redisViewWriter(settings);
  const reader = redisViewReader(settings);
  const state = redisSignInState({ ...settings, commandTimeoutMs: 2_000, onError });
  const messageOf = (asked: Promise<unknown>) => asked.then(String, ({ message }: Error) => message);
  const asks: [setting: string, ask: () => Promise<string>][] = [
    ['REDIS_URL', () => messageOf(lead(writer))],
    ['REDIS_URL', async () => JSON.stringify(await reader.ready())],
    ['AUTH_REDIS_URL', () => messageOf(state.find('A', 'x'))],
  ];
  try {
    for (const [setting, ask] of asks) {
      const answer = async () => all[all.push(await ask()) - 1];
      await expect.poll(answer).toContain(words(setting));
    }
    return all.join();
  } finally {
    await Promise.all([writer.close(), reader.close(), state.close()]);
  }
}

describe('a Redis that refuses', () => {
  test.each([
    ['no password', false, () => server.url],
    ['a wrong password, as a cluster', true, () => signedIn(cluster.url, '', 'wheel-9')],
  ])('%s is said to, with the setting and without the password', async (_, isCluster, url) => {
    const all = await said(url(), isCluster, (setting) => `efuses the user and password of ${setting}`);
    expect(all).not.toMatch(/wheel-9|ty(@|%40)re/);
  });

  test('is not trusted where nobody named its authority, or where its certificate has ended, and words say so', async () => {
    const ended = makeCertificate(['localhost', '127.0.0.1'], -1);
    const late = await startRedisServer({ tls: ended });
    try {
      tls.setDefaultCACertificates(authorities);
      await said(signedIn(server.url), false, () => 'in NODE_EXTRA_CA_CERTS');
      tls.setDefaultCACertificates([...authorities, ended.cert]);
      await said(late.url, false, () => 'a certificate that has ended (CERT_HAS_EXPIRED)');
    } finally {
      tls.setDefaultCACertificates([...authorities, certificate.cert]);
      await late.stop();
    }
  });

  test('a client without TLS is said to want TLS', async () => {
    const url = signedIn(server.url).replace('rediss:', 'redis:');
    const writer = await redisViewWriter({ url, cluster: false, keyPrefix: freshKeyPrefix() });
    const words = 'if it wants TLS, write rediss:// in REDIS_URL';
    await vi.waitFor(() => expect(lead(writer)).rejects.toThrow(words), { timeout: 60_000 });
    await writer.close();
  });
});
