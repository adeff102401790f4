import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { EncodedBody, etagsOf } from '../../../api/messages/encoded-body.ts';

/** A body's forms, and what Accept-Encoding asks for (docs/rules.md#compression). */

const text = Buffer.from('a night on wheels, '.repeat(60));
const codingFor = (header: string | undefined, read = 2): string | null => {
  const body = new EncodedBody(text);
  if (read === 2) body.formFor(header);
  return body.formFor(header).coding?.name ?? null;
};

describe('what a request asks for', () => {
  it.each([
    [undefined, null],
    ['', null],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, br', 'br'],
    ['br;q=0.5, gzip;q=0.9', 'gzip'],
    ['gzip; q=0.5 , br ;q=0.4', 'gzip'],
    ['*', 'zstd'],
    ['zstd;q=0, *', 'br'],
    ['*;q=0.1', 'zstd'],
    ['deflate', null],
    ['identity', null],
    ['gzip, identity', 'gzip'],
    ['identity, gzip;q=0.5', null],
    ['gzip;q=0', null],
    ['identity;q=0', null],
    ['*;q=0', null],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
    ['gzip;q=much', null],
    [',, gzip ,', 'gzip'],
  ])('%j: %s', (header, coding) => {
    expect(codingFor(header)).toBe(coding);
  });
});

describe('a body', () => {
  it('is sent as it is at its first read, and compressed from the second on, whoever read it first', () => {
    const body = new EncodedBody(text);
    expect(body.formFor('gzip')).toEqual({ bytes: text, coding: null });
    const second = body.formFor('gzip');
    expect(gunzipSync(second.bytes)).toEqual(text);
    const other = new EncodedBody(text);
    other.formFor(undefined);
    expect(other.formFor('br').coding?.name).toBe('br');
  });

  it('is compressed at its first read where identity is refused', () => {
    expect(codingFor('identity;q=0, br', 1)).toBe('br');
    expect(codingFor('gzip, *;q=0', 1)).toBe('gzip');
  });

  it('is compressed once in each form', () => {
    const body = new EncodedBody(text, 1);
    for (const coding of ['zstd', 'br', 'gzip']) expect(body.formFor(coding).bytes).toBe(body.formFor(coding).bytes);
  });

  it('is sent as it is below 1,000 bytes, even where identity is refused', () => {
    const header = 'gzip, identity;q=0';
    expect(new EncodedBody(text.subarray(0, 999), 1).formFor(header).coding).toBeNull();
    expect(new EncodedBody(text.subarray(0, 1000), 1).formFor(header).coding?.name).toBe('gzip');
  });

  it('has an ETag for each form, which names the encoding and its compressor', () => {
    const { brotli, zlib, zstd } = process.versions;
    expect(etagsOf('tag-0', undefined)).toEqual([
      '"tag-0"',
      `"tag-0-zstd3-${zstd}"`,
      `"tag-0-br5-${brotli}"`,
      `"tag-0-gzip6-${zlib}"`,
    ]);
  });
});
