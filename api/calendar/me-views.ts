import { dayText } from '../../schemas/views/days.ts';
import { compareText } from '../../schemas/views/text.ts';
import { completeKeyOf, nightKey, riderKey } from '../../schemas/views/view-keys.ts';
import {
  decodeGoing,
  decodeOwn,
  decodeView,
  type GoingRider,
  goingBits,
  type OwnNight,
  type RiderCard,
} from '../../schemas/views/view-values.ts';
import { UnavailableError } from '../http/answer.ts';
import type { LocalDays } from './local-days.ts';
import { NightView } from './night-view.ts';
import type { Entry, ViewCache } from './view-cache.ts';

/**
 * The fields of a reader's hash, by kind: own nights (`o`), friends going (`f`), flagged riders going (`x`). A day
 * without a field is left out.
 */
export type ReaderFields = Record<'o' | 'f' | 'x', { day: number; value: Buffer }[]>;

/** A rider's card with its JSON, which is made once while the card is kept. */
export interface RiderView extends RiderCard {
  /** `"handle":…,"name":…`. */
  json: string;
}

function riderView(value: Buffer): RiderView {
  const { handle, name, sort } = decodeView<RiderCard>(value).header;
  return { handle, name, sort, json: JSON.stringify({ handle, name }).slice(1, -1) };
}

/** Everything that a rider's answers are built from: ids by day, and the nights and rider cards that the ids name. */
export interface MeViews {
  own: { day: number; nights: OwnNight[] }[];
  friends: { day: number; riders: GoingRider[] }[];
  flagged: { day: number; riders: GoingRider[] }[];
  /** Null if the night no longer exists. */
  night(ride: string, day: number): NightView | null;
  /** Null if the rider no longer exists. */
  card(rider: string): RiderView | null;
  localDays: LocalDays;
  nowMs: number;
}

/** Reads the nights and cards that a reader's fields name, in one round trip. Throws StoreAwayError. */
export async function readMeViews(
  fields: ReaderFields,
  cache: ViewCache,
  clock: { localDays: LocalDays; nowMs: number },
): Promise<MeViews> {
  const going = ({ day, value }: { day: number; value: Buffer }) => ({ day, riders: decodeGoing(value) });
  const own = fields.o.map(({ day, value }) => ({ day, nights: decodeOwn(value) }));
  const friends = fields.f.map(going);
  const flagged = fields.x.map(going);

  const views = new NamedViews();
  for (const { day, nights } of own) for (const { ride } of nights) views.nameNight(ride, day);
  for (const { day, riders } of [...friends, ...flagged]) {
    for (const { ride, rider } of riders) {
      views.nameNight(ride, day);
      views.nameCard(rider);
    }
  }
  await views.load(cache);
  return {
    ...{ own, friends, flagged, ...clock },
    night: (ride, day) => views.night(ride, day)?.as((value) => new NightView(value)) ?? null,
    card: (rider) => views.card(rider)?.as(riderView) ?? null,
  };
}

/** The nights and cards that fields name: first their keys, then their views. */
class NamedViews {
  readonly #nights = new Map<number, Map<string, string>>();
  readonly #cards = new Map<string, string>();
  readonly #entries = new Map<string, Entry>();

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
   * Reads all named views that are not cached. A missing view means that the entity is gone only if its tag is complete
   * (docs/rules.md#absence). Otherwise throws UnavailableError.
   */
  async load(cache: ViewCache): Promise<void> {
    const keys = [...this.#cards.values(), ...[...this.#nights.values()].flatMap((ofDay) => [...ofDay.values()])];
    const tags = [...new Set(keys.filter((key) => !cache.peek(key)).map(completeKeyOf))];
    const entries = await cache.load([...keys, ...tags]);
    const complete = new Set(tags.filter((_, i) => entries[keys.length + i]!.value !== null));
    keys.forEach((key, i) => {
      const entry = entries[i]!;
      if (entry.value !== null) this.#entries.set(key, entry);
      else if (!complete.has(completeKeyOf(key))) {
        throw new UnavailableError('nights and riders are not known to be complete');
      }
    });
  }

  /** Undefined if the night no longer exists. */
  night(ride: string, day: number): Entry | undefined {
    return this.#entries.get(this.#nights.get(day)!.get(ride)!);
  }

  /** Undefined if the rider no longer exists. */
  card(rider: string): Entry | undefined {
    return this.#entries.get(this.#cards.get(rider)!);
  }
}

/** A rider who goes to a night, with their card. */
export interface KnownRider extends GoingRider {
  card: RiderView;
}

/** A night, and which of the reader's friends or flagged riders go to it. */
export interface NightRiders {
  night: NightView;
  /** In the order of riders. */
  riders: KnownRider[];
}

/**
 * Order of riders (docs/rules.md#order-of-riders): folded name, or handle if there is no name; then handle; then rider
 * id.
 */
function compareRiders(a: KnownRider, b: KnownRider): number {
  return (
    compareText(a.card.sort, b.card.sort) || compareText(a.card.handle, b.card.handle) || compareText(a.rider, b.rider)
  );
}

/** Close friends first. The order is otherwise unchanged. */
export const closeFirst = (a: KnownRider, b: KnownRider): number =>
  (b.bits & goingBits.close) - (a.bits & goingBits.close);

export const inOrderOfNights = (a: { night: NightView }, b: { night: NightView }): number =>
  NightView.compare(a.night, b.night);

/**
 * Groups riders by the night they go to. Takes nights that pass the filter, in the order of nights. Leaves out nights
 * and riders that no longer exist.
 */
export function ridersByNight(
  views: MeViews,
  going: MeViews['friends'],
  passes: (night: NightView) => boolean,
  counts: (rider: GoingRider) => boolean,
): NightRiders[] {
  const gatherings = new Map<NightView, KnownRider[]>();
  for (const { day, riders } of going) {
    // Riders are listed ride by ride.
    let ride = '';
    let night: NightView | null = null;
    for (const rider of riders) {
      if (rider.ride !== ride) {
        ride = rider.ride;
        night = views.night(ride, day);
        if (night && !passes(night)) night = null;
      }
      const card = night && counts(rider) ? views.card(rider.rider) : null;
      if (!night || !card) continue;
      const known = gatherings.get(night) ?? [];
      known.push({ ride: rider.ride, rider: rider.rider, bits: rider.bits, card });
      gatherings.set(night, known);
    }
  }
  return [...gatherings]
    .map(([night, riders]) => ({ night, riders: riders.sort(compareRiders) }))
    .sort(inOrderOfNights);
}

export const isPast = (views: MeViews, night: NightView): boolean =>
  views.localDays.dayAt(night.zone, views.nowMs) > night.day;

export const dayOfNight = (night: NightView): string => dayText(night.day);
