import { readFileSync } from 'node:fs';
import zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { EncodedBody, etagsOf } from '../../../api/messages/encoded-body.ts';

const text = Buffer.from('a night on wheels, '.repeat(60));

// docs/rules.md#compression
it.each([
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['br;q=0.5, gzip;q=0.9', 'gzip'],
  ['*', 'gzip'],
  ['zstd;q=0, *', 'gzip'],
  ['*, ZSTD;q=0.5', 'gzip'],
  ['gzip;q=0, *', null],
  ['identity, gzip;q=0.5', null],
  ['gzip;q=0', null],
  ['gzip;q=much', null],
])('Accept-Encoding: %j asks for %s', (header, coding) => {
  const body = new EncodedBody(text);
  body.formFor(undefined);
  expect(body.formFor(header).coding?.name ?? null).toBe(coding);
});

it('a body that lives as long as the process is sent in the smallest form of what a request likes equally', () => {
  const form = (header: string) => new EncodedBody(text, { lasting: true }).formFor(header).coding?.name;
  expect(['gzip, br, zstd', 'zstd, br;q=0.9', 'gzip, zstd'].map(form)).toEqual(['br', 'zstd', 'zstd']);
});

it('a body below 1,000 bytes is sent as it is, even where identity is refused', () => {
  const header = 'gzip, identity;q=0';
  expect(new EncodedBody(text.subarray(0, 999), { lasting: true }).formFor(header).coding).toBeNull();
  expect(new EncodedBody(text.subarray(0, 1000), { lasting: true }).formFor(header).coding?.name).toBe('gzip');
});

it('each form has an ETag, which names the encoding and its compressor', () => {
  const { brotli, zlib, zstd } = process.versions;
  const compressed = [`"tag-0-zstd3-${zstd}"`, `"tag-0-br5-${brotli}"`, `"tag-0-gzip6-${zlib}"`];
  expect(etagsOf('tag-0', undefined)).toEqual(['"tag-0"', ...compressed]);
  // First those that the request may get.
  expect(etagsOf('t', 'gzip;q=1, br;q=0.5')[0]).toBe(`"t-gzip6-${zlib}"`);
});

it('each form is what its ETag says', () => {
  const text = readFileSync(import.meta.filename);
  const { BROTLI_PARAM_QUALITY, ZSTD_c_compressionLevel } = zlib.constants;
  for (const [coding, expected] of Object.entries({
    zstd: zlib.zstdCompressSync(text, { params: { [ZSTD_c_compressionLevel]: 3 } }),
    br: zlib.brotliCompressSync(text, { params: { [BROTLI_PARAM_QUALITY]: 5 } }),
    gzip: zlib.gzipSync(text, { level: 6 }),
  }))
    expect(new EncodedBody(text, { lasting: true }).formFor(coding).bytes).toEqual(expected);
});
