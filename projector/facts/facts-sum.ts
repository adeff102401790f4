import { hash } from 'node:crypto';
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

/**
 * The sum of facts: 128 bits. Two processes with equal facts have equal sums, however they got them (docs/rules.md#law).
 * With different facts the sums almost certainly differ. Each fact is hashed and the hashes are added, lane by lane. So
 * the order does not matter, and a changed fact is subtracted and added again. What the facts do not keep does not count:
 * tombstones, RSVPs without a response, and relations without any bit.
 *
 * A record's hash is the first 128 bits of SHA-256. The hash of an RSVP or a relation has 64: its lanes 2 and 3 are
 * functions of its lanes 0 and 1. So two different edges are taken for one with a chance of 2^-64.
 */
export class FactsSum {
  readonly #sum = new Int32Array(4);

  /** 32 hex digits. */
  get text(): string {
    return Array.from(this.#sum, (lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** An edge between two interned texts changed its bits. 0 is no edge. */
  edge<A extends number, B extends number>(
    kind: number,
    from: Interner<A>,
    a: A,
    to: Interner<B>,
    b: B,
    before: number,
    after: number,
  ): void {
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
  #addEdge<A extends number, B extends number>(
    seed: number,
    from: Interner<A>,
    a: A,
    to: Interner<B>,
    b: B,
    sign: 1 | -1,
  ): void {
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
    const values = countedFields[topic].map((field) => (record as Record<string, unknown>)[field]);
    const digest = hash('sha256', JSON.stringify([topic, key, values]));
    for (let lane = 0; lane < 4; lane++) {
      this.#sum[lane]! += sign * Number.parseInt(digest.slice(8 * lane, 8 * lane + 8), 16);
    }
  }
}

// Multipliers of MurmurHash3_x86_128.
const c1 = 0x239b961b | 0;
const c2 = 0xab0e9789 | 0;
const c3 = 0x38b34ae5 | 0;
const c4 = 0xa1e38b93 | 0;
