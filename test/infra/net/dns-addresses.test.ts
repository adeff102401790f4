import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dnsAddresses } from '../../../infra/net/dns-addresses.ts';
import { httpsMetadataFetch } from '../../../infra/net/https-metadata-fetch.ts';
import { type DnsServer, startDnsServer } from './dns-server.ts';

let server: DnsServer;
beforeAll(async () => {
  server = await startDnsServer({ 'app.example': ['192.0.2.1', '192.0.2.2'], 'inside.example': ['127.0.0.1'] });
});
afterAll(() => server.close());
const resolver = (options: { timeoutMs?: number; tries?: number } = {}) =>
  dnsAddresses({ servers: [server.address], ...options });
const never = new AbortController().signal;

test('a name has the addresses that DNS knows, and one that is not there has none', async () => {
  expect((await resolver()('app.example', never)).sort((a, b) => a.address.localeCompare(b.address))).toEqual([
    { address: '192.0.2.1', family: 4 },
    { address: '192.0.2.2', family: 4 },
  ]);
  expect(await resolver()('nobody.example', never)).toEqual([]);
});

test('a name whose DNS never answers has no address after the time-outs', async () => {
  expect(await resolver({ timeoutMs: 50, tries: 1 })('slow.silent', never)).toEqual([]);
});

test('a look-up that is given up asks no more', async () => {
  const stop = new AbortController();
  const found = resolver({ timeoutMs: 100, tries: 10 })('given-up.silent', stop.signal);
  const asked = () => server.asked.filter((name) => name === 'given-up.silent').length;
  await expect.poll(asked).toBeGreaterThan(1);
  stop.abort();
  expect(await found).toEqual([]);
  const before = asked();
  await sleep(1000);
  expect(asked()).toBe(before);
  await expect(resolver()('given-up.silent', stop.signal)).rejects.toThrow();
});

test('documents at names whose DNS never answers keep no other look-up waiting', async () => {
  const fetching = httpsMetadataFetch({ resolve: resolver({ timeoutMs: 5_000 }), timeoutMs: 3_000 });
  let ended = 0;
  const stuck = Array.from({ length: 16 }, async (_, i) => {
    await expect(fetching(`https://name-${i}.silent/client.json`)).rejects.toThrow('too long');
    ended++;
  });
  // Every one of them is asked for, and the process's own look-ups, which have four threads, go on.
  await expect.poll(() => new Set(server.asked.filter((name) => name.startsWith('name-'))).size).toBe(16);
  for (let i = 0; i < 4; i++) await lookup('localhost');
  expect(ended).toBe(0);
  await Promise.all(stuck);
});
