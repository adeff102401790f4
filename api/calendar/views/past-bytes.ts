/**
 * Writes `"past":true` into stored bytes, which have `false` there (schemas/views/view-kinds.ts). local-days.ts decides
 * what is past.
 */

const yes = Buffer.from('true');
const noLength = 'false'.length;

/** The bytes, with `true` in place of each `false` at these offsets. The offsets are ascending. */
export function withPast(body: Buffer, offsets: readonly number[]): Buffer {
  if (offsets.length === 0) return body;
  const pieces: Buffer[] = [];
  let from = 0;
  for (const offset of offsets) {
    pieces.push(body.subarray(from, offset), yes);
    from = offset + noLength;
  }
  pieces.push(body.subarray(from));
  return Buffer.concat(pieces);
}

/** How many bytes `true` is shorter than `false`. */
export const pastShorterBy = noLength - yes.length;
