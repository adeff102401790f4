import type { TopicName, TopicRecords } from '../../schemas/events/records.ts';
import type { Interner } from './interner.ts';

/** Kinds of edges in the sum. Each leaves room for the four bits of an entry. */
export const rsvpEdge = 0x10;
export const relationEdge = 0x20;

type RecordTopic = Exclude<TopicName, 'attendance' | 'relations'>;
/**
 * Topics whose facts are records, with the fields that count. Revisions and their times do not, because they show
 * nowhere.
 */
const countedFields: { [T in RecordTopic]: readonly (keyof TopicRecords[T])[] } = {
  metros: ['metro', 'name', 'time_zone'],
  districts: ['district', 'metro', 'name', 'kind'],
  riders: ['handle', 'name'],
  rides: ['ride', 'title', 'description', 'type', 'metro', 'distance', 'audience', 'leaders', 'posted', 'url'],
  nights: ['ride', 'day', 'meet_time', 'status', 'cancellation_reason', 'meeting', 'url'],
  'developer-keys': ['key_hash'],
};
const meetingFields = ['place_name', 'district', 'secret', 'show_neighbourhood'] as const;
const topicSeeds = Object.fromEntries(Object.keys(countedFields).map((topic, i) => [topic, 0x100 * (i + 1)])) as Record<
  RecordTopic,
  number
>;

/**
 * The sum of facts: 128 bits. Two processes with equal facts have equal sums, however they got them (docs/rules.md#law).
 * With different facts the sums almost certainly differ. Each fact is hashed and the hashes are added, lane by lane. So
 * the order does not matter, and a changed fact is subtracted and added again. What the facts do not keep does not count:
 * tombstones, RSVPs without a response, and relations without any bit.
 *
 * A record's hash has 128 bits (MurmurHash3, x86). The hash of an RSVP or a relation has 64: its lanes 2 and 3 are
 * functions of its lanes 0 and 1. So two different edges are taken for one with a chance of 2^-64.
 */
export class FactsSum {
  readonly #sum = new Int32Array(4);
  // The hash in progress, and the words that wait until there are four.
  readonly #hash = new Int32Array(4);
  readonly #words = new Int32Array(4);
  #waiting = 0;
  #length = 0;

  /** 32 hex digits. */
  get text(): string {
    return Array.from(this.#sum, (lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** An edge between two interned texts changed its bits. 0 is no edge. */
  edge(kind: number, from: Interner, a: number, to: Interner, b: number, before: number, after: number): void {
    if (before !== 0) this.#addEdge(kind + before, from, a, to, b, -1);
    if (after !== 0) this.#addEdge(kind + after, from, a, to, b, 1);
  }

  /** A key's record changed. Null is none. */
  record(topic: RecordTopic, key: string, before: object | null, after: object | null): void {
    if (before) this.#addRecord(topic, key, before, -1);
    if (after) this.#addRecord(topic, key, after, 1);
  }

  /**
   * Uses two words of each end, which make 64 bits: there are millions of edges, so this must be a few multiplications.
   * Lanes 2 and 3 follow from p and q.
   */
  #addEdge(seed: number, from: Interner, a: number, to: Interner, b: number, sign: 1 | -1): void {
    let p = Math.imul(from.hash(a, 0) + seed, c1) ^ to.hash(b, 0);
    let q = Math.imul(from.hash(a, 1) ^ seed, c2) + to.hash(b, 1);
    p = Math.imul(p ^ (p >>> 15), c3);
    q = Math.imul(q ^ (q >>> 13), c4);
    p ^= q >>> 16;
    q ^= p >>> 14;
    p = Math.imul(p, 0x85ebca6b);
    q = Math.imul(q, 0xc2b2ae35);
    p ^= p >>> 13;
    q ^= q >>> 16;
    const sum = this.#sum;
    sum[0] = (sum[0]! + Math.imul(sign, p)) | 0;
    sum[1] = (sum[1]! + Math.imul(sign, q)) | 0;
    sum[2] = (sum[2]! + Math.imul(sign, Math.imul(p + q, c2) ^ (p >>> 16))) | 0;
    sum[3] = (sum[3]! + Math.imul(sign, Math.imul(p ^ q, c4) ^ (q >>> 15))) | 0;
  }

  #addRecord(topic: RecordTopic, key: string, record: object, sign: 1 | -1): void {
    this.#begin(topicSeeds[topic]);
    this.#text(key);
    for (const field of countedFields[topic]) this.#value((record as Record<string, unknown>)[field]);
    const length = this.#length;
    while (this.#waiting > 0) this.#word(0);
    const hash = this.#hash;
    this.#add(hash[0]! ^ length, hash[1]! ^ length, hash[2]! ^ length, hash[3]! ^ length, sign);
  }

  /** Each value begins with a word for its type, so that different records never give the same words. */
  #value(value: unknown): void {
    if (value === null) this.#word(0);
    else if (typeof value === 'string') this.#text(value);
    else if (typeof value === 'boolean') this.#word(value ? 2 : 3);
    else if (typeof value === 'number') {
      this.#word(4);
      this.#word(value | 0);
      this.#word(Math.floor(value / 2 ** 32) | 0);
    } else if (Array.isArray(value)) {
      this.#word(5);
      this.#word(value.length);
      for (const item of value) this.#value(item);
    } else {
      this.#word(6);
      for (const field of meetingFields) this.#value((value as Record<string, unknown>)[field]);
    }
  }

  #text(text: string): void {
    this.#word(1);
    this.#word(text.length);
    // Two UTF-16 units per word. Past the end a unit is NaN, which is shifted to 0.
    for (let i = 0; i < text.length; i += 2) this.#word(text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16));
  }

  #begin(seed: number): void {
    this.#hash.fill(seed);
    this.#waiting = 0;
    this.#length = 0;
  }

  #word(word: number): void {
    this.#words[this.#waiting++] = word;
    this.#length++;
    if (this.#waiting < 4) return;
    this.#waiting = 0;
    const words = this.#words;
    this.#block(words[0]!, words[1]!, words[2]!, words[3]!);
  }

  #block(k1: number, k2: number, k3: number, k4: number): void {
    const hash = this.#hash;
    let h1 = hash[0]!;
    let h2 = hash[1]!;
    let h3 = hash[2]!;
    let h4 = hash[3]!;
    h1 ^= Math.imul(rotate(Math.imul(k1, c1), 15), c2);
    h1 = (Math.imul(rotate(h1, 19) + h2, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotate(Math.imul(k2, c2), 16), c3);
    h2 = (Math.imul(rotate(h2, 17) + h3, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotate(Math.imul(k3, c3), 17), c4);
    h3 = (Math.imul(rotate(h3, 15) + h4, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotate(Math.imul(k4, c4), 18), c1);
    h4 = (Math.imul(rotate(h4, 13) + h1, 5) + 0x32ac3b17) | 0;
    hash[0] = h1;
    hash[1] = h2;
    hash[2] = h3;
    hash[3] = h4;
  }

  /** Finalizes a hash, and adds it to the sum or subtracts it. */
  #add(a: number, b: number, c: number, d: number, sign: 1 | -1): void {
    const h1 = stirred((a + b + c + d) | 0);
    const h2 = stirred((a + 2 * b + c + d) | 0);
    const h3 = stirred((a + b + 2 * c + d) | 0);
    const h4 = stirred((a + b + c + 2 * d) | 0);
    const sum = this.#sum;
    sum[0] = (sum[0]! + Math.imul(sign, h1 + h2 + h3 + h4)) | 0;
    sum[1] = (sum[1]! + Math.imul(sign, h1 + h2)) | 0;
    sum[2] = (sum[2]! + Math.imul(sign, h1 + h3)) | 0;
    sum[3] = (sum[3]! + Math.imul(sign, h1 + h4)) | 0;
  }
}

// The constants of MurmurHash3_x86_128.
const c1 = 0x239b961b | 0;
const c2 = 0xab0e9789 | 0;
const c3 = 0x38b34ae5 | 0;
const c4 = 0xa1e38b93 | 0;

const rotate = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

function stirred(word: number): number {
  let h = word ^ (word >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
