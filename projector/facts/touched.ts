/**
 * What a fold says of each fact that changed, by interned numbers. Marking (projector/writing/marking.ts) turns it into
 * views to write again; a log that is folded from its start tells nobody.
 */
export interface Touched {
  /** The metro came, went or moved to another zone. */
  metro(metro: number): void;
  /** Anything of the ride's own record. */
  ride(ride: number): void;
  /** Anything of the night that anybody can read: its record, its district's name, its count. */
  night(night: number): void;
  /** The rider's card: name, handle, existence. */
  card(rider: number): void;
  /** A rider came or went. */
  existence(rider: number): void;
  /** Whether any developer key has this hash. */
  keyHash(hash: number): void;
  /** A rider's own nights of a day: RSVP, saved or led. */
  own(rider: number, day: number): void;
  /** Whether a rider who exists is going to a night of the day. */
  going(rider: number, day: number): void;
  /** What a reader marked another rider as: bits before and after. */
  relation(reader: number, other: number, before: number, after: number): void;
}

export const tellNobody: Touched = {
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
