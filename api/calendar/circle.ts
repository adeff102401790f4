import { dayText } from '../../schemas/views/days.ts';
import { compareText } from '../../schemas/views/text.ts';
import type { GoingRider, OwnNight, RiderCard } from '../../schemas/views/view-values.ts';
import type { LocalDays } from './local-days.ts';
import { NightView } from './night-view.ts';

/** What a rider's answers are stitched from: ids by day, and the nights and cards they name. */
export interface Circle {
  own: { day: number; nights: OwnNight[] }[];
  friends: { day: number; riders: GoingRider[] }[];
  flagged: { day: number; riders: GoingRider[] }[];
  /** Null where the night is no longer there. */
  night(ride: string, day: number): NightView | null;
  /** Null where the rider is no longer there. */
  card(rider: string): RiderCard | null;
  localDays: LocalDays;
  nowMs: number;
}

/** Somebody going to a night, with their card. */
export interface Known extends GoingRider {
  card: RiderCard;
}

/** A night that is there, and who of the reader's goes to it. */
export interface Gathering {
  night: NightView;
  /** In the order of riders. */
  riders: Known[];
}

/**
 * Order of riders (docs/rules.md#order-of-riders): folded name, or handle where there is none; then handle; then rider
 * id.
 */
function compareRiders(a: Known, b: Known): number {
  return (
    compareText(a.card.sort, b.card.sort) || compareText(a.card.handle, b.card.handle) || compareText(a.rider, b.rider)
  );
}

/** Close ones first; else as they were. */
export const closeFirst = (a: Known, b: Known): number => Number(b.close) - Number(a.close);

export const inOrderOfNights = (a: { night: NightView }, b: { night: NightView }): number =>
  NightView.compare(a.night, b.night);

/** Riders by the night they go to, of nights that pass, in the order of nights; who or what is gone is in none. */
export function gather(
  circle: Circle,
  going: Circle['friends'],
  passes: (night: NightView) => boolean,
  counts: (rider: GoingRider) => boolean,
): Gathering[] {
  const gatherings = new Map<NightView, Known[]>();
  for (const { day, riders } of going) {
    // Riders come ride by ride.
    let ride = '';
    let night: NightView | null = null;
    for (const rider of riders) {
      if (rider.ride !== ride) {
        ride = rider.ride;
        night = circle.night(ride, day);
        if (night && !passes(night)) night = null;
      }
      const card = night && counts(rider) ? circle.card(rider.rider) : null;
      if (!night || !card) continue;
      const known = gatherings.get(night) ?? [];
      known.push({ ...rider, card });
      gatherings.set(night, known);
    }
  }
  return [...gatherings]
    .map(([night, riders]) => ({ night, riders: riders.sort(compareRiders) }))
    .sort(inOrderOfNights);
}

export const isPast = (circle: Circle, night: NightView): boolean =>
  circle.localDays.dayAt(night.zone, circle.nowMs) > night.day;

export const dayOfNight = (night: NightView): string => dayText(night.day);
