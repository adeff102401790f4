/** Whether a night is past on a local date: from the midnight after its day on (docs/rules.md#past). */
export const isPast = (day: number, today: number): boolean => day < today;

const yes = Buffer.from('true');
const noLength = 'false'.length;

/**
 * Stored bytes in which each `false` at these offsets, in ascending order, is replaced by `true` (docs/rules.md#past).
 */
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
