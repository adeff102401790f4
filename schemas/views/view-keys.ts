import { hash } from 'node:crypto';

/**
 * View keys. A view's name is `<kind>:<id>`. Its tag is one of 64, by a hash of the id. schemas/README.md has the keys
 * as stores spell them, such as `<prefix>g3:pub:{v17}:day:portland/2015-06-13` in Redis.
 */

/**
 * The number of the view format. Every change of stored bytes raises it: projectors and API processes of two formats
 * share nothing in a store, and may run side by side (test/schemas/views/view-format.test.ts).
 */
export const viewFormat = 3;

export const tagCount = 64;
export const allTags: readonly number[] = Array.from({ length: tagCount }, (_, i) => i);

/** Kinds of views that show facts. API processes cache them and hear of every change. */
export const factKinds = ['day', 'ride', 'night', 'metro', 'key', 'rider'] as const;
export type FactKind = (typeof factKinds)[number];
/** View kinds of the public layer: views of facts, and whether a tag is complete. */
export const publicKinds = [...factKinds, 'complete'] as const;
/** The kind of the riders' own layer, which is never cached: one hash per rider, whose fields are views. */
export type RiderKind = 'reader';
/** Kinds of views that are one key's value. */
export type ValueKind = (typeof publicKinds)[number];
export type ViewKind = ValueKind | RiderKind;

/** The tag of an id, 0 to 63: FNV-1a over UTF-16 units, folded to six bits. Part of the stored format. */
export function tagOf(subject: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < subject.length; i++) h = Math.imul(h ^ subject.charCodeAt(i), 0x01000193);
  return folded(h);
}

function folded(hash: number): number {
  const h = hash ^ (hash >>> 16);
  return (h ^ (h >>> 6) ^ (h >>> 12)) & 63;
}

/** The tag of an id in bytes. -1 if it is not ASCII: then its UTF-16 units are not its bytes. */
export function tagOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let h = 0x811c9dc5;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte > 0x7f) return -1;
    h = Math.imul(h ^ byte, 0x01000193);
  }
  return folded(h);
}

/** A view's name with its tag: `17|day:portland/2015-06-13`. Ports take this as `key`; adapters translate it. */
export function viewKey(kind: ViewKind, id: string): string {
  return `${tagOf(id)}|${kind}:${id}`;
}

export const dayKey = (metro: string, day: string): string => viewKey('day', `${metro}/${day}`);
export const rideKey = (ride: string): string => viewKey('ride', ride);
export const nightKey = (ride: string, day: string): string => viewKey('night', `${ride}/${day}`);
export const metroKey = (metro: string): string => viewKey('metro', metro);
/** `hashHex`: SHA-256 of a developer key's text, as 64 lower-case hex digits. */
export const developerKeyKey = (hashHex: string): string => viewKey('key', hashHex);
/** The rider's card. It exists while the rider does. */
export const riderKey = (rider: string): string => viewKey('rider', rider);
/**
 * The hash of the rider's own layer. Fields: `o<Monday>` own nights of a week, `f<day>` friends going, `x<Monday>`
 * flagged riders going in a week.
 */
export const readerKey = (rider: string): string => viewKey('reader', rider);
/** Exists while the tag is complete. Only then does the absence of one of its views mean anything. */
export const completeKey = (tag: number): string => `${tag}|complete:`;
/** The same for the tag of a view. */
export const completeKeyOf = (view: string): string => `${view.slice(0, view.indexOf('|'))}|complete:`;
export const isCompleteKey = (key: string): boolean => key.endsWith('|complete:');

export function parseKey(key: string): { tag: number; kind: ViewKind; id: string } {
  const bar = key.indexOf('|');
  const colon = key.indexOf(':', bar);
  return { tag: Number(key.slice(0, bar)), kind: key.slice(bar + 1, colon) as ViewKind, id: key.slice(colon + 1) };
}

/** The length of the digest at the start of every value: characters of base64url, ASCII. */
export const digestLength = 16;

/** The first 96 bits of SHA-256, as 16 characters of base64url. */
export function digestOf(content: Buffer | string): string {
  return hash('sha256', content, 'base64url').slice(0, digestLength);
}
