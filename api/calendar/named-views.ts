import { dayText, dayTextLength } from '../../schemas/views/days.ts';
import { completeKeyOf, nightKey, riderKey } from '../../schemas/views/view-keys.ts';
import { UnavailableError } from '../http/answer.ts';
import { memoize } from './memoize.ts';
import { NightView } from './night-view.ts';
import { RiderView } from './rider-view.ts';
import type { Entry, ViewCache } from './view-cache.ts';

/** A night that a reader's fields name. Its view is null until it is read, and if the night no longer exists. */
export interface NamedNight {
  readonly key: string;
  view: NightView | null;
}

/** A rider whom a reader's fields name. The card is null until it is read, and if the rider no longer exists. */
export interface NamedRider {
  readonly key: string;
  card: RiderView | null;
}

// A key has a tag, and a Map needs its hash: working out both costs more than all else that is done for a night or rider
// whose view is cached. About 15 MB at most.
const keysMax = 50_000;
const keyOfRider = memoize(riderKey, keysMax);
const keyOfNight = memoize((id) => nightKey(id.slice(0, -dayTextLength - 1), id.slice(-dayTextLength)), keysMax);

/** The nights and riders that a reader's fields name: first their keys, then their views. */
export class NamedViews {
  readonly #nights = new Map<number, Map<string, NamedNight>>();
  readonly #riders = new Map<string, NamedRider>();

  /** The night if it is named already. */
  namedNight(ride: string, day: number): NamedNight | undefined {
    return this.#nights.get(day)?.get(ride);
  }

  night(ride: string, day: number): NamedNight {
    let ofDay = this.#nights.get(day);
    if (!ofDay) {
      ofDay = new Map();
      this.#nights.set(day, ofDay);
    }
    let night = ofDay.get(ride);
    if (!night) {
      night = { key: keyOfNight(`${ride}/${dayText(day)}`), view: null };
      ofDay.set(ride, night);
    }
    return night;
  }

  rider(id: string): NamedRider {
    let rider = this.#riders.get(id);
    if (!rider) {
      rider = { key: keyOfRider(id), card: null };
      this.#riders.set(id, rider);
    }
    return rider;
  }

  /**
   * Reads all named views that are not cached, in one round trip. A missing view means that the entity is gone only if
   * its tag is complete (docs/rules.md#absence). Otherwise throws UnavailableError. Throws StoreAwayError.
   */
  async load(cache: ViewCache): Promise<void> {
    const riders = [...this.#riders.values()];
    const nights = [...this.#nights.values()].flatMap((ofDay) => [...ofDay.values()]);
    const keys = [...riders, ...nights].map(({ key }) => key);
    const entries = cache.peekAll(keys) ?? (await loadAll(keys, cache));
    riders.forEach((rider, i) => {
      if (entries[i]!.value !== null) rider.card = entries[i]!.as(riderView);
    });
    nights.forEach((night, i) => {
      const entry = entries[riders.length + i]!;
      if (entry.value !== null) night.view = entry.as(nightView);
    });
  }
}

const riderView = (value: Buffer): RiderView => new RiderView(value);
const nightView = (value: Buffer): NightView => new NightView(value);

async function loadAll(keys: readonly string[], cache: ViewCache): Promise<Entry[]> {
  const tags = [...new Set(keys.filter((key) => !cache.peek(key)).map(completeKeyOf))];
  const entries = await cache.load([...keys, ...tags]);
  const complete = new Set(tags.filter((_, i) => entries[keys.length + i]!.value !== null));
  keys.forEach((key, i) => {
    if (entries[i]!.value === null && !complete.has(completeKeyOf(key))) {
      throw new UnavailableError('nights and riders are not known to be complete');
    }
  });
  return entries;
}
