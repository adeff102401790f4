/** The texts of a MessagePack array: what `cmsgpack.unpack` makes of it in Redis. */
export function unpacked(packed: Buffer): string[] {
  if (packed[0] !== 0xdc)
    throw new Error(`Cannot unpack texts: byte ${packed[0]}, want an array with 16 bits of length`);
  const texts: string[] = [];
  let at = 3;
  for (let left = packed.readUInt16BE(1); left > 0; left--) {
    const [start, length] = textAt(packed, at);
    texts.push(packed.toString('utf8', start, start + length));
    at = start + length;
  }
  if (at !== packed.length) throw new Error(`Cannot unpack texts: ${packed.length - at} bytes follow the last one`);
  return texts;
}

function textAt(packed: Buffer, at: number): [start: number, length: number] {
  const format = packed[at]!;
  if (format >> 5 === 0b101) return [at + 1, format & 31];
  if (format === 0xda) return [at + 3, packed.readUInt16BE(at + 1)];
  if (format === 0xdb) return [at + 5, packed.readUInt32BE(at + 1)];
  throw new Error(`Cannot unpack texts: byte ${format} begins no text`);
}
