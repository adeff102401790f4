import type { Facts } from '../facts/facts.ts';
import { nightBytes, type PublishedNight } from './night.ts';

const comma = Buffer.from(',');

/** Nights as JSON array items between a head and a tail, with the place of each. */
export function joinNights(
  facts: Facts,
  nights: readonly PublishedNight[],
  head: Buffer,
  tail: Buffer,
): { body: Buffer; starts: number[]; ends: number[]; past: number[] } {
  const pieces = [head];
  const starts: number[] = [];
  const ends: number[] = [];
  const pastAt: number[] = [];
  let at = head.length;
  for (const night of nights) {
    if (pieces.length > 1) {
      pieces.push(comma);
      at += 1;
    }
    const { bytes, past } = nightBytes(facts, night);
    pieces.push(bytes);
    starts.push(at);
    pastAt.push(at + past);
    at += bytes.length;
    ends.push(at);
  }
  pieces.push(tail);
  return { body: Buffer.concat(pieces), starts, ends, past: pastAt };
}
