import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyEnd } from '../../../api/http/body-end.ts';

const chunked = { 'transfer-encoding': 'chunked' };

/** Where a body ends, counted from the first byte of all packets. Null: not in them. */
function endIn(headers: Parameters<typeof bodyEnd>[0], packets: Buffer[]): number | null {
  const body = bodyEnd(headers);
  let before = 0;
  for (const packet of packets) {
    const end = body.in(packet, 0);
    if (end !== null) return before + end;
    before += packet.length;
  }
  return null;
}

const cut = (text: string, at: readonly number[]): Buffer[] => {
  const cuts = [...new Set(at.map((one) => one % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...cuts].map((begin, i) => Buffer.from(text.slice(begin, cuts[i]), 'latin1'));
};

const cuts = fc.array(fc.nat(), { maxLength: 6 });
const line = fc.stringMatching(/^[a-z=]{0,9}$/);

describe('a body', () => {
  test('of a known length ends after so many bytes, however it is cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), fc.string({ unit: 'binary-ascii' }), cuts, (text, next, at) => {
        expect(endIn({ 'content-length': String(text.length) }, cut(text + next, at))).toBe(text.length);
      }),
    );
  });

  test('in chunks ends after its trailers, however it is cut', () => {
    const data = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 });
    const chunk = fc.tuple(data, line, fc.boolean()).map(([text, extension, zeros]) => {
      const size = `${zeros ? '00' : ''}${text.length.toString(16)}`;
      return `${size}${extension && `;${extension}`}\r\n${text}\r\n`;
    });
    const trailers = fc.array(
      line.map((value) => `X: ${value}\r\n`),
      { maxLength: 2 },
    );
    fc.assert(
      fc.property(fc.array(chunk), trailers, data, cuts, (chunks, fields, next, at) => {
        const text = `${chunks.join('')}0\r\n${fields.join('')}\r\n`;
        expect(endIn(chunked, cut(text + next, at))).toBe(text.length);
      }),
    );
  });

  test.each(['zz\r\n\r\n', '-5\r\nabc\r\n0\r\n\r\n', '\r\n0\r\n\r\n', '5\r\nabc'])('of %j has no end', (text) => {
    expect(endIn(chunked, [Buffer.from(text)])).toBeNull();
  });
});
