import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { night, ride } from '../../reference/example-log.ts';
import { startHttpService } from '../../support/processes/http-service.ts';
import { riderOperations, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';

/** Compressed answers (docs/rules.md#compression, #etag, #if-none-match, #vary), over sockets. */

const decode = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync };
const browsers = { 'Accept-Encoding': 'gzip, deflate, br, zstd' };
const rides = Array.from({ length: 40 }, (_, i) => `ride${i}`);

const busy = rides.flatMap((id, i) => [ride(id, { title: i % 2 ? 'Odd' : 'Even' }), night(id, '2015-06-18')]);
const service = await startHttpService({
  records: [...smallWorld.records, ...busy],
  register: (app) => registerDocs(app, { baseUrl: 'https://rides.example/api' }),
});
const page = await service.exchange('GET /docs HTTP/1.1\r\nHost: a\r\n\r\n');
const docsFile = /docs\/[\w-]+\/swagger-ui.css/.exec(page.body.toString())![0];

const day = '/metros/pdx/days/2015-06-18';
const ask = (path: string, more: Record<string, string> = {}, method = 'GET') =>
  service.ask(path, { ...withKey(), ...more }, method);

describe.each([day, '/openapi.json'])('%s', (path) => {
  it.each(Object.entries(decode))('in %s is the plain answer, with an ETag of its own', async (coding, decompress) => {
    const plain = await ask(path);
    await ask(path, { 'Accept-Encoding': coding });
    const answer = await ask(path, { 'Accept-Encoding': coding });
    const [length, { vary }] = [String(answer.body.length), plain.headers];
    expect(answer.headers).toMatchObject({ 'content-encoding': coding, 'content-length': length, vary });
    expect(decompress(answer.body)).toEqual(plain.body);
    expect(answer.body.length).toBeLessThan(plain.body.length / 2);
    expect(answer.headers.etag).toContain(coding);
    // `*`, and its own ETag behind another's, are told that of this form.
    for (const sent of ['*', `${plain.headers.etag}, ${answer.headers.etag}`]) {
      const { status, headers } = await ask(path, { 'Accept-Encoding': coding, 'If-None-Match': sent });
      expect([sent, status, headers.etag]).toEqual([sent, 304, answer.headers.etag]);
    }
    // HEAD agrees, and either ETag validates for either reader.
    const head = await ask(path, { 'Accept-Encoding': coding }, 'HEAD');
    for (const name of ['content-length', 'content-encoding', 'etag', 'vary'])
      expect([name, head.headers[name]]).toEqual([name, answer.headers[name]]);
    for (const etag of [answer.headers.etag!, plain.headers.etag!])
      for (const accepted of ['identity', coding]) {
        const { status, headers } = await ask(path, { 'Accept-Encoding': accepted, 'If-None-Match': `"x", W/${etag}` });
        expect([status, headers.etag, headers['content-encoding']]).toEqual([304, etag, undefined]);
      }
  });
});

it('a day that has just changed, or is filtered, is sent as it is, unless that is refused', async () => {
  const old = (await ask(day, browsers)).headers.etag!;
  await service.publish([ride(rides[0]!, { metro: 'pdx', title: 'Another name' })]);
  expect((await ask(day, { ...browsers, 'If-None-Match': old })).status).toBe(200);
  await service.publish([ride(rides[0]!, { metro: 'pdx', title: 'A third name' })]);
  for (const path of [day, `${day}?q=odd`]) {
    const plain = await ask(path, browsers);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const answer = await ask(path, { 'Accept-Encoding': 'gzip, identity;q=0' });
    expect([answer.headers['content-encoding'], gunzipSync(answer.body)]).toEqual(['gzip', plain.body]);
  }
  expect((await ask(day, browsers)).headers['content-encoding']).toBe('zstd');
});

it("a small answer, a refusal and a rider's own are sent as they are, even where that is refused", async () => {
  for (const path of [smallWorld.emptyDay, '/rides/nowhere', ...riderOperations.map(({ path }) => path)]) {
    const answer = await ask(path, { ...withToken(), 'Accept-Encoding': 'gzip, identity;q=0' });
    expect(answer.headers).not.toHaveProperty('content-encoding');
  }
});

it('/docs and its files are compressed for their first reader, and validated by ETag', async () => {
  for (const target of ['/docs', `/${docsFile}`]) {
    const get = (more: string) => service.exchange(`GET ${target} HTTP/1.1\r\nHost: a\r\n${more}\r\n`);
    const answer = await get('Accept-Encoding: gzip\r\n');
    expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(gunzipSync(answer.body)).toEqual((await get('')).body);
    expect((await get(`If-None-Match: ${answer.headers.etag}\r\n`)).status).toBe(304);
  }
});
