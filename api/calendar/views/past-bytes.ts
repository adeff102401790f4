const yes = Buffer.from('true');
const noLength = 'false'.length;

/**
 * Stored bytes, with `true` in place of each `false` at these offsets, which are ascending. So `"past":true` is written
 * (schemas/views/view-kinds.ts). local-days.ts decides what is past.
 */
export function withPast(stored: Buffer, offsets: readonly number[]): Buffer {
  if (offsets.length === 0) return stored;
  const pieces: Buffer[] = [];
  let from = 0;
  for (const offset of offsets) {
    pieces.push(stored.subarray(from, offset), yes);
    from = offset + noLength;
  }
  pieces.push(stored.subarray(from));
  return Buffer.concat(pieces);
}
