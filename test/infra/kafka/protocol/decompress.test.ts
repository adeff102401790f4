import { gzipSync, zstdCompressSync } from 'node:zlib';
import { compressionsAlgorithms } from '@platformatic/kafka';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codecNames, decompress, TooLargeError } from '../../../../infra/kafka/protocol/decompress.ts';

const packed = ['gzip', 'snappy', 'lz4', 'zstd'] as const;
type Packed = (typeof packed)[number];

const compress = (codec: Packed, data: Buffer): Buffer => compressionsAlgorithms[codec].compressSync(data) as Buffer;
const unpack = (codec: Packed, data: Buffer, bytesMax = 64 << 20) =>
  decompress(codecNames.indexOf(codec), data, bytesMax);

/** Texts that come again, near and far, short and long: what compressors look for. */
const repetitive = fc
  .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.nat(3), fc.constantFrom(1, 2, 50, 3_000)), {
    minLength: 1,
    maxLength: 30,
  })
  .map((parts) => {
    const texts = parts.map(([text]) => Buffer.from(text));
    return Buffer.concat(
      parts.map(([text, back, times], i) =>
        Buffer.concat(Array(times).fill(back === 0 ? Buffer.from(text) : texts[Math.max(0, i - back)]!)),
      ),
    );
  });

describe.each(packed)('%s', (codec) => {
  it('unpacks what the client library packed', () => {
    const same = (data: Buffer) => unpack(codec, compress(codec, data)).equals(data);
    fc.assert(fc.property(repetitive, same), { numRuns: 60 });
  });

  it('unpacks as much as is allowed, and no byte more', () => {
    const data = Buffer.alloc(300_000, 'night after night ');
    const small = compress(codec, data);
    expect(unpack(codec, small, data.length).equals(data)).toBe(true);
    expect(() => unpack(codec, small, data.length - 1)).toThrow(TooLargeError);
  });

  it('comes to an end with bytes that are cut off or altered, within what is allowed', () => {
    const small = compress(codec, Buffer.alloc(5_000, 'night after night '));
    const attempt = (bytes: Buffer) => {
      try {
        expect(unpack(codec, bytes, 10_000).length).toBeLessThanOrEqual(10_000);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    };
    for (let at = 0; at < small.length; at++) {
      attempt(small.subarray(0, at));
      for (const bits of [0xff, 0x01, 0x80])
        attempt(Buffer.from(small.map((byte, i) => (i === at ? byte ^ bits : byte))));
    }
  });
});

it("snappy unpacks Java's chunks, each with its length before it", () => {
  const pieces = [Buffer.alloc(40_000, 'one'), Buffer.alloc(7, 'two'), Buffer.alloc(90_000, 'three')];
  const chunks = pieces.flatMap((piece) => {
    const chunk = compress('snappy', piece);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(chunk.length);
    return [length, chunk];
  });
  const stream = Buffer.concat([Buffer.from('\x82SNAPPY\0\0\0\0\x01\0\0\0\x01', 'latin1'), ...chunks]);
  expect(unpack('snappy', stream).equals(Buffer.concat(pieces))).toBe(true);
  expect(() => unpack('snappy', stream, 100_000)).toThrow(TooLargeError);
});

it('LZ4 unpacks a frame whose blocks refer to those before, or are stored as they are, with every checksum', () => {
  const checksum = [9, 9, 9, 9];
  const block = (bytes: number[], top = 0) => [bytes.length, 0, 0, top, ...bytes, ...checksum];
  // Version 1, linked blocks, checksums of blocks and content, the content's size, a dictionary's id.
  const head = [0x04, 0x22, 0x4d, 0x18, 0b0101_1101, 0x40, ...Array(8 + 4 + 1).fill(0)];
  const stored = block([...Buffer.from('night')], 0x80);
  // No literals, 5 bytes from 5 before; then one literal.
  const linked = block([0x01, 5, 0, 0x10, 0x21]);
  const frame = Buffer.from([...head, ...stored, ...linked, 0, 0, 0, 0, ...checksum]);
  expect(unpack('lz4', frame).toString()).toBe('nightnight!');
});

it.each([
  ['gzip', (zeros: Buffer) => gzipSync(zeros, { level: 1 })],
  ['zstd', (zeros: Buffer) => zstdCompressSync(zeros)],
] as const)('members of %s one after another are too large together', (codec, pack) => {
  const member = pack(Buffer.alloc(64 << 20));
  expect(() => unpack(codec, Buffer.concat([member, member]))).toThrow(TooLargeError);
});

it('an unknown codec is refused', () => {
  expect(() => decompress(5, Buffer.alloc(9), 99)).toThrow('its compression has the unknown number 5');
});
