import { dayText, parseDay } from '../../schemas/views/days.ts';
import {
  dayKey,
  digestLength,
  liveKeyKey,
  metroKey,
  nightKey,
  parseKey,
  readerKey,
  rideKey,
  riderKey,
  tagOf,
} from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import type { Fold } from '../facts/fold.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { renderFlagged, renderFriends, renderOwn } from '../views/reader.ts';
import { renderView } from '../views/render.ts';
import { readerDay } from './marks.ts';

const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const stepsPerTurn = 500;

const empty = Buffer.alloc(0);
const same = (a: Buffer | null | undefined, b: Buffer | null): boolean => (a ?? empty).equals(b ?? empty);

/**
 * One routine for every repair: lists what a store holds under some tags, compares it with what the facts render, and
 * marks what differs, is missing or is extra; the ordinary rounds do the rest. `settle` is awaited now and then, so that
 * marks are written rather than piled up. Throws the signal's reason soon after it aborts.
 */
export class Reconcile {
  readonly #fold: Fold;
  readonly #settle: () => Promise<void>;
  readonly #signal: AbortSignal | null;
  #steps = 0;
  #differing = 0;

  constructor(fold: Fold, settle: () => Promise<void>, signal: AbortSignal | null = null) {
    this.#fold = fold;
    this.#settle = settle;
    this.#signal = signal;
  }

  /** Returns how many views differed. */
  async run(writer: ViewWriter, tags: readonly number[]): Promise<number> {
    const wanted = new Set(tags);
    const seen = new Set<string>();
    for await (const stored of writer.list(tags)) {
      const { kind, id } = parseKey(stored.key);
      if (kind === 'complete' || kind === 'position') continue;
      if ('fields' in stored) this.#compareReader(id, stored.fields);
      else this.#compareView(stored.key, stored.digest);
      seen.add(stored.key);
      await this.#turn();
    }
    for (const key of viewKeys(this.#fold.facts)) {
      if (wanted.has(parseKey(key).tag) && !seen.has(key)) this.#compareView(key, '');
      await this.#turn();
    }
    const { facts } = this.#fold;
    for (let reader = 0; reader < facts.riders.length; reader++) {
      const id = facts.riderIds.text(reader);
      if (!facts.riderExists(reader) || !wanted.has(tagOf(id)) || seen.has(readerKey(id))) continue;
      this.#compareReader(id, new Map());
      await this.#turn();
    }
    return this.#differing;
  }

  #compareView(key: string, digest: string): void {
    const value = renderView(this.#fold.facts, key);
    if ((value?.toString('latin1', 0, digestLength) ?? '') === digest) return;
    this.#differing += 1;
    this.#fold.marks.views.add(key);
  }

  /** Every field of a reader's hash, stored or wanted. */
  #compareReader(id: string, fields: Map<string, Buffer>): void {
    const { facts, marks } = this.#fold;
    const reader = facts.riderIds.add(id);
    const own = new Set<number>();
    const circle = new Set<number>();
    for (const field of fields.keys()) (field.startsWith('o') ? own : circle).add(parseDay(field.slice(1)) ?? 0);
    if (facts.riderExists(reader)) {
      for (const day of this.#fold.ownDays(reader)) own.add(day);
      for (const day of this.#fold.circleDays(reader)) circle.add(day);
    }
    for (const day of own) {
      if (same(fields.get(`o${dayText(day)}`), renderOwn(facts, reader, day))) continue;
      this.#differing += 1;
      marks.own.add(readerDay(reader, day));
    }
    for (const day of circle) {
      if (!same(fields.get(`f${dayText(day)}`), renderFriends(facts, reader, day))) {
        this.#differing += 1;
        marks.friends.add(readerDay(reader, day));
      }
      if (!same(fields.get(`x${dayText(day)}`), renderFlagged(facts, reader, day))) {
        this.#differing += 1;
        marks.flagged.add(readerDay(reader, day));
      }
    }
  }

  async #turn(): Promise<void> {
    if (++this.#steps % stepsPerTurn !== 0) return;
    await yieldTurn();
    // Against an empty store it is minutes of work: whoever stops the projector must not have to wait for it.
    this.#signal?.throwIfAborted();
    if (this.#fold.marks.size > 10_000) await this.#settle();
  }
}

/** Every whole-key view that the facts may render to something. */
function* viewKeys(facts: Facts): Generator<string> {
  for (const slug of facts.metros.keys()) yield metroKey(slug);
  for (const hash of facts.hashUses.keys()) yield liveKeyKey(hash);
  for (let rider = 0; rider < facts.riders.length; rider++) {
    if (facts.riderExists(rider)) yield riderKey(facts.riderIds.text(rider));
  }
  for (const ride of facts.rides) {
    if (!ride.record) continue;
    yield rideKey(ride.id);
    for (const [day, night] of ride.nights) if (facts.nightRecords[night]) yield nightKey(ride.id, dayText(day));
  }
  for (const metroDay of facts.nightsOfDay.keys()) {
    const slash = metroDay.lastIndexOf('/');
    yield dayKey(metroDay.slice(0, slash), dayText(Number(metroDay.slice(slash + 1))));
  }
}
