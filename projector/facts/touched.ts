import type { MetroNumber, NightNumber, RideNumber, RiderNumber } from './numbers.ts';

/**
 * What a fold tells its listeners (Fold.subscribe): each fact that changed, by interned numbers. Marking
 * (projector/writing/marking.ts) turns this into views to write. While a log is folded from its start nobody listens,
 * because every view is compared afterwards.
 */
export interface Touched {
  /** The metro appeared, disappeared or changed its zone. */
  metro(metro: MetroNumber): void;
  /** Anything in the ride's own record changed. */
  ride(ride: RideNumber): void;
  /** Anything public about the night changed: its record, its district's name, its count. */
  night(night: NightNumber): void;
  /** The rider's card changed: name, handle, existence. */
  card(rider: RiderNumber): void;
  /** A rider appeared or disappeared. */
  existence(rider: RiderNumber): void;
  /** Whether any developer key has this hash changed. */
  keyHash(hash: number): void;
  /** A rider's own nights of a day changed: RSVP, saved or led. */
  own(rider: RiderNumber, day: number): void;
  /** Whether a rider who exists goes to a night of the day changed. */
  going(rider: RiderNumber, day: number): void;
  /** The bits of a reader's relation to another rider changed. */
  relation(reader: RiderNumber, other: RiderNumber, before: number, after: number): void;
}

export const ignoreChanges: Touched = {
  metro() {},
  ride() {},
  night() {},
  card() {},
  existence() {},
  keyHash() {},
  own() {},
  going() {},
  relation() {},
};

/** Several listeners as one. A single one is returned as it is, so that it costs nothing more. */
export function tellAll(listeners: readonly Touched[]): Touched {
  const [first = ignoreChanges] = listeners;
  if (listeners.length < 2) return first;
  const tell = (what: (listener: Touched) => void): void => {
    for (const listener of listeners) what(listener);
  };
  return {
    metro: (metro) => tell((listener) => listener.metro(metro)),
    ride: (ride) => tell((listener) => listener.ride(ride)),
    night: (night) => tell((listener) => listener.night(night)),
    card: (rider) => tell((listener) => listener.card(rider)),
    existence: (rider) => tell((listener) => listener.existence(rider)),
    keyHash: (hash) => tell((listener) => listener.keyHash(hash)),
    own: (rider, day) => tell((listener) => listener.own(rider, day)),
    going: (rider, day) => tell((listener) => listener.going(rider, day)),
    relation: (...about) => tell((listener) => listener.relation(...about)),
  };
}
