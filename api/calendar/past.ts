const yes = Buffer.from('true');
const noLength = 'false'.length;

/** Stored bytes with `true` in the places of `false` given by their offsets, ascending (docs/rules.md#past). */
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

/** How many bytes each `true` is shorter than the `false` it stands for. */
export const pastShorterBy = noLength - yes.length;
