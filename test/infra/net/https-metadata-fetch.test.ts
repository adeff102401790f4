import { createServer } from 'node:https';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { DocumentAwayError } from '../../../api/ports/metadata-fetch.ts';
import { httpsMetadataFetch, type MetadataFetchOptions } from '../../../infra/net/https-metadata-fetch.ts';
import { isPublicAddress } from '../../../infra/net/public-address.ts';
import { makeCertificate } from '../../support/servers/certificate.ts';
import { listening } from '../../support/servers/listening.ts';

test('an address of the public internet is told from all others', () => {
  const isPublic = (addresses: string) => addresses.trim().split(/\s+/).filter(isPublicAddress).join(' ');
  const open = '1.1.1.1 8.8.8.8 172.15.0.1 172.32.0.1 192.0.1.1 223.255.255.255 2606:4700::1111 2a00:1450::1';
  expect(isPublic(open)).toBe(open);
  const others = `0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255
    192.168.1.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1
    ::ffff:127.0.0.1 ::ffff:1.1.1.1 ::7f00:1 64:ff9b::7f00:1 fc00::1 fd12::1 fe80::1 ff02::1 2001:db8::1
    2001::1 2002:7f00:1:: 3fff::1 4000::1 localhost 127.1 0x7f.1 1.1.1.1:443 fe80::1%eth0`;
  expect(isPublic(others)).toBe('');
  expect(isPublicAddress('')).toBe(false);
});

const ipv4 = (address: string) => ({ address, family: 4 });

describe('a document of a stranger', () => {
  let port: number;
  let close: () => void;
  let ca: string;
  let asked: string[] = [];
  // How long it holds, and 16 kB: as docs/sign-in.md says.
  const held = {
    'content-type': 'application/json',
    'cache-control': 'max-age=60',
    expires: 'Thu, 01 Jan 2099 00:00:00 GMT',
  };
  const longest = '{"ok":true}'.padEnd(16 * 1024);
  beforeAll(async () => {
    const certificate = makeCertificate(['client.example', 'other.example']);
    ca = certificate.cert;
    const server = createServer(certificate, (request, response) => {
      asked.push(`${request.headers.host} ${request.url} ${request.headers['accept-encoding']}`);
      if (request.url === '/redirect') response.writeHead(302, { location: 'https://client.example/ok' }).end();
      else if (request.url === '/huge') response.end(`${longest} `);
      else if (request.url === '/slow') response.write('{"a":');
      else if (request.url === '/missing') response.writeHead(404).end('secret of the server');
      else response.writeHead(200, { ...held, 'x-more': 'dropped' }).end(longest);
    });
    ({ port, close } = await listening(server));
  });
  afterAll(() => close());
  const fetchTo = (options: MetadataFetchOptions = {}) =>
    httpsMetadataFetch({
      ca,
      resolve: async () => [ipv4('127.0.0.1')],
      isAllowed: (address) => address === '127.0.0.1',
      ...options,
    });
  const url = (path: string, host = 'client.example') => `https://${host}:${port}${path}`;

  test('is fetched, with the headers that say how long it holds', async () => {
    const response = await fetchTo()(url('/ok'));
    expect(await response.json()).toEqual({ ok: true });
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([200, held]);
    expect(asked.at(-1)).toBe(`client.example:${port} /ok identity`);
    const missing = await fetchTo()(url('/missing'));
    expect([missing.status, await missing.text()]).toEqual([404, '']);
  });

  test('is not fetched from this machine or its network, however the address is written', async () => {
    asked = [];
    const real = httpsMetadataFetch({ ca });
    const hosts = '127.0.0.1 localhost [::1] 0.0.0.0 2130706433 0x7f000001 127.1 [::ffff:127.0.0.1] 10.0.0.1 [fd00::1]';
    for (const host of hosts.split(' '))
      await expect(real(url('/ok', host)), host).rejects.toThrow(/not on the public internet|no address/);
    // Where one of several is reserved, neither.
    const mixed = fetchTo({ resolve: async () => ['127.0.0.1', '10.0.0.1'].map(ipv4) });
    await expect(mixed(url('/ok'))).rejects.toThrow(/not on the public internet/);
    expect(asked).toEqual([]);
  });

  test('is fetched from the very address that was checked, when its name is given another one meanwhile', async () => {
    const addresses = ['127.0.0.1', '10.0.0.1'];
    const rebinding = fetchTo({ resolve: async () => [ipv4(addresses.shift()!)] });
    expect((await rebinding(url('/ok'))).status).toBe(200);
    expect(addresses).toEqual(['10.0.0.1']);
  });

  test('is not taken by a redirect, or when it is too long', async () => {
    await expect(fetchTo()(url('/redirect'))).rejects.toThrow(/redirects are not followed/);
    await expect(fetchTo()(url('/huge'))).rejects.toThrow(/longer than/);
  });

  test('is away when it takes longer than 4 seconds, its name’s resolution included', async () => {
    await expect(fetchTo({ timeoutMs: 200 })(url('/slow'))).rejects.toThrow(DocumentAwayError);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let fault: unknown = null;
    fetchTo({ resolve: () => new Promise(() => {}) })(url('/ok')).catch((error) => (fault = error));
    await vi.advanceTimersByTimeAsync(3_999);
    const early = fault;
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers();
    expect([early, fault]).toEqual([null, expect.any(DocumentAwayError)]);
  });

  test('is fetched by https alone, with a certificate for its name', async () => {
    await expect(fetchTo()(`http://client.example:${port}/ok`)).rejects.toThrow(/only https/);
    await expect(fetchTo()(`https://user:pw@client.example:${port}/ok`)).rejects.toThrow(/user or password/);
    await expect(fetchTo()(url('/ok', 'wrong.example'))).rejects.toThrow(/can’t be fetched/);
    const untrusted = fetchTo({ ca: makeCertificate(['client.example']).cert });
    await expect(untrusted(url('/ok'))).rejects.toThrow(/can’t be fetched/);
  });
});
