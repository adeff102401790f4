/** What sign-in needs to know about riders. Answered from the views (services/). */
export interface RiderDirectory {
  /** A rider's names. Null if there is none. Throws if that cannot be told: the views are away or incomplete. */
  card(rider: string): Promise<RiderCard | null>;
  /** Up to `count` riders to choose from, for the embedded default's sign-in page only. */
  sample(count: number): Promise<SampleRider[]>;
}

export interface RiderCard {
  handle: string;
  name: string | null;
}

export interface SampleRider extends RiderCard {
  rider: string;
  /** What there is to see as this rider, in words. */
  sees: string;
}
