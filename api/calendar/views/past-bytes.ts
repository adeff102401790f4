/** Stored bytes with `true` for each `false` at these ascending offsets: `"past":true` (local-days.ts decides). */
export function withPast(stored: Buffer, offsets: readonly number[]): Buffer {
  const starts = [0, ...offsets.map((offset) => offset + 'false'.length)];
  const pieces = starts.map((start, i) => stored.toString('latin1', start, offsets[i]));
  return offsets.length === 0 ? stored : Buffer.from(pieces.join('true'), 'latin1');
}
