/** What sign-in has to know of riders. Answered from the views (services/). */
export interface RiderDirectory {
  /** Whether there is such a rider. Throws where that can't be told: views away, or not known to be complete. */
  exists(rider: string): Promise<boolean>;
  /** How the rider is called, to tell them as whom they are signed in; null where there is no such rider. */
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
}
