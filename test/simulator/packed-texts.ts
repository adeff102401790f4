/** The lists of texts in a MessagePack array of arrays: what `cmsgpack.unpack` makes of it in Redis. */
export function unpacked(packed: Buffer): string[][] {
  const [lists, end] = listAt(packed, 0, (at) => listAt(packed, at, (text) => textAt(packed, text)));
  if (end !== packed.length) throw new Error(`Cannot unpack texts: ${packed.length - end} bytes follow the last one`);
  return lists;
}

type Found<T> = [found: T, next: number];

function listAt<T>(packed: Buffer, start: number, itemAt: (at: number) => Found<T>): Found<T[]> {
  if (packed[start] !== 0xdd)
    throw new Error(`Cannot unpack texts: byte ${packed[start]}, want an array with 32 bits of length`);
  const items: T[] = [];
  let at = start + 5;
  for (let left = packed.readUInt32BE(start + 1); left > 0; left--) {
    const [item, next] = itemAt(at);
    items.push(item);
    at = next;
  }
  return [items, at];
}

function textAt(packed: Buffer, at: number): Found<string> {
  const [start, length] = placeOf(packed, at);
  return [packed.toString('utf8', start, start + length), start + length];
}

function placeOf(packed: Buffer, at: number): [start: number, length: number] {
  const format = packed[at]!;
  if (format >> 5 === 0b101) return [at + 1, format & 31];
  if (format === 0xda) return [at + 3, packed.readUInt16BE(at + 1)];
  if (format === 0xdb) return [at + 5, packed.readUInt32BE(at + 1)];
  throw new Error(`Cannot unpack texts: byte ${format} begins no text`);
}
