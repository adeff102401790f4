import { LuaError } from './lua.ts';

/**
 * The lists of texts in a MessagePack array of arrays: what `cmsgpack.unpack` makes of it in Redis. Its other formats are not
 * known here, because no script is sent any. Texts have one unit for each byte.
 */
export function unpacked(packed: Buffer): string[][] {
  let at = 0;
  const take = (bytes: number): number => {
    at += bytes;
    if (at > packed.length) throw new LuaError('Missing bytes in input.');
    return at - bytes;
  };
  const listOf = <T>(item: () => T): T[] => {
    if (packed[take(1)] !== 0xdd) throw new LuaError('Bad data format in input.');
    return Array.from({ length: packed.readUInt32BE(take(4)) }, item);
  };
  const length = (): number => {
    const format = packed[take(1)]!;
    if (format >> 5 === 0b101) return format & 31;
    if (format === 0xdb) return packed.readUInt32BE(take(4));
    throw new LuaError('Bad data format in input.');
  };
  const text = (): string => {
    const bytes = length();
    const start = take(bytes);
    return packed.toString('latin1', start, start + bytes);
  };
  return listOf(() => listOf(text));
}
