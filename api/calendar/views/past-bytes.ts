const yes = Buffer.from('true');
const noLength = 'false'.length;

/** Stored bytes with `true` for each `false` at these ascending offsets: `"past":true` (local-days.ts decides). */
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
