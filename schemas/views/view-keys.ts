/**
 * Tags and the spelling of keys. A view's key is `<tag>|<kind>:<id>`, such as `21|day:portland/2015-06-13`. A store spells
 * it in its own way: in Redis it is `<prefix>g5:pub:{v21}:day:portland/2015-06-13` (stored-views.md).
 */

/**
 * The number of the view format. Every change of stored bytes raises it: projectors and API processes of two formats
 * share nothing in a store, and may run side by side (test/schemas/views/view-format.test.ts).
 */
export const viewFormat = 5;

export const tagCount = 64;
export const allTags: readonly number[] = Array.from({ length: tagCount }, (_, i) => i);

/** The tag of an id, e.g. 62 for `portland`: FNV-1a over UTF-16 units, folded to six bits. Part of the stored format. */
export function tagOf(subject: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < subject.length; i++) h = Math.imul(h ^ subject.charCodeAt(i), 0x01000193);
  return folded(h);
}

function folded(hash: number): number {
  const h = hash ^ (hash >>> 16);
  return (h ^ (h >>> 6) ^ (h >>> 12)) & 63;
}

/** The same for an id in bytes. -1 if it is not ASCII: then its UTF-16 units are not its bytes. */
export function tagOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let h = 0x811c9dc5;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte > 0x7f) return -1;
    h = Math.imul(h ^ byte, 0x01000193);
  }
  return folded(h);
}

/** A view's key with its tag, e.g. `62|metro:portland`. Ports take it as `key`; adapters translate it. */
export function viewKey(kind: string, id: string): string {
  return `${tagOf(id)}|${kind}:${id}`;
}

/** E.g. `62|complete:`. It exists while the tag is complete. Only then a view that is missing does not exist. */
export const completeKey = (tag: number): string => `${tag}|complete:`;
/** The same, for the tag of a view's key. */
export const completeKeyOf = (view: string): string => `${view.slice(0, view.indexOf('|'))}|complete:`;
export const isCompleteKey = (key: string): boolean => key.endsWith('|complete:');
