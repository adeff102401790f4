import { dayText } from '../../schemas/views/days.ts';
import { completeKey, nightKey, parseKey, riderKey } from '../../schemas/views/view-keys.ts';
import { UnavailableError } from '../http/answer.ts';
import type { Entry, ViewCache } from './view-cache.ts';

/** The nights and cards that a reader's fields name: their keys, each worked out once, and then their views. */
export class NamedViews {
  readonly #nights = new Map<number, Map<string, string>>();
  readonly #cards = new Map<string, string>();
  #entries = new Map<string, Entry>();

  nameNight(ride: string, day: number): void {
    let ofDay = this.#nights.get(day);
    if (!ofDay) {
      ofDay = new Map();
      this.#nights.set(day, ofDay);
    }
    if (!ofDay.has(ride)) ofDay.set(ride, nightKey(ride, dayText(day)));
  }

  nameCard(rider: string): void {
    if (!this.#cards.has(rider)) this.#cards.set(rider, riderKey(rider));
  }

  /**
   * Reads all that were named and are not kept here, in one round trip. What is absent counts as gone only where its
   * tag is known to be complete: else throws UnavailableError. Throws StoreAwayError.
   */
  async load(cache: ViewCache): Promise<void> {
    const keys = [...this.#cards.values(), ...[...this.#nights.values()].flatMap((ofDay) => [...ofDay.values()])];
    const missing = keys.filter((key) => !cache.peek(key));
    const tags = [...new Set(missing.map((key) => parseKey(key).tag))].map(completeKey);
    const entries = await cache.load([...keys, ...tags]);
    const complete = new Set(tags.filter((_, i) => entries[keys.length + i]!.value !== null));
    keys.forEach((key, i) => {
      const entry = entries[i]!;
      if (entry.value === null && !complete.has(completeKey(parseKey(key).tag))) {
        throw new UnavailableError('nights and riders are not known to be complete');
      }
      this.#entries.set(key, entry);
    });
  }

  /** Null where the night is no longer there. */
  night<T>(ride: string, day: number, make: (value: Buffer) => T): T | null {
    return this.#view(this.#nights.get(day)!.get(ride)!, make);
  }

  /** Null where the rider is no longer there. */
  card<T>(rider: string, make: (value: Buffer) => T): T | null {
    return this.#view(this.#cards.get(rider)!, make);
  }

  #view<T>(key: string, make: (value: Buffer) => T): T | null {
    const entry = this.#entries.get(key);
    return entry?.value ? entry.as(make) : null;
  }
}
