import { metroSketches } from './metros.ts';

export const defaultSizes = { metros: 4, rides: 120, riders: 400, days: 60, seed: 1 } as const;

/** The lower and upper limit of each. RSVPs grow with riders times days: about one rider in five responds each day. */
export const sizeLimits: Record<keyof typeof defaultSizes, readonly [number, number]> = {
  metros: [1, metroSketches.length],
  rides: [1, 1_000_000],
  riders: [1, 5_000_000],
  days: [1, 3650],
  seed: [0, 2_147_483_647],
};
