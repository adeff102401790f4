import type { ErrorAnswer, Problem } from '../../schemas/interface/answers.ts';

/** Made-up examples for the OpenAPI document. Its test checks each against its schema. */

export const parameterExamples: Record<string, unknown> = {
  metro: 'portland',
  day: '2026-06-13',
  ride: 'tacos4ever',
  q: 'taco ride',
  far: ['under_5', '5_to_10'],
  who: ['General', '21+ Only'],
  where: ['buckman', 'kerns'],
  from: '2026-06-12',
  to: '2026-06-19',
  close_friends_only: true,
};

const open = {
  ride: 'tacos4ever',
  title: 'Taco Ride',
  day: '2026-06-13',
  meet_time: '18:30',
  time_zone: 'America/Los_Angeles',
  status: 'on',
  cancellation_reason: null,
  past: false,
  going_count: 14,
  meeting: {
    withheld: false,
    place_name: 'Colonel Summers Park',
    neighbourhood: 'Buckman',
    neighbourhood_slug: 'buckman',
  },
  url: 'https://rides.example.org/tacos4ever/2026-06-13',
};

const secret = {
  ride: 'moonlit7',
  title: 'Moonlit Mystery',
  day: '2026-06-13',
  meet_time: null,
  time_zone: 'America/Los_Angeles',
  status: 'cancelled',
  cancellation_reason: 'Thunderstorms',
  past: false,
  going_count: 0,
  meeting: { withheld: true, place_name: null, neighbourhood: null, neighbourhood_slug: null },
  url: 'https://rides.example.org/moonlit7/2026-06-13',
};

const flagged = {
  ride: 'tacos4ever',
  day: '2026-06-13',
  riders: [{ handle: 'wheelie', name: null }],
};

/** By the names of components. */
export const answerExamples = {
  Day: { metro: 'portland', day: '2026-06-13', nights: [open, secret] },
  Ride: {
    ride: 'tacos4ever',
    title: 'Taco Ride',
    description: 'Slow roll, four carts, no one left behind.',
    type: 'social',
    metro: 'portland',
    nights: [open],
    url: 'https://rides.example.org/tacos4ever',
  },
  MyNights: { nights: [{ night: open, why: 'going' }], flagged: [flagged] },
  KnownNights: {
    nights: [
      {
        ride: 'tacos4ever',
        day: '2026-06-13',
        known: 3,
        names: [
          { handle: 'spoke', name: 'Robin Spoke', flagged: false },
          { handle: 'wheelie', name: null, flagged: true },
        ],
      },
    ],
  },
  FriendNights: {
    nights: [
      {
        night: open,
        friends: [
          { handle: 'spoke', name: 'Robin Spoke', close: true, following: true, flagged: false },
          { handle: 'wheelie', name: null, close: false, following: true, flagged: true },
        ],
      },
    ],
    flagged: [flagged],
  },
  FlaggedNights: { nights: [flagged] },
};

/** An example made from a body that is really sent, so the two cannot differ. */
export const bodyExample = (body: Buffer): ErrorAnswer | Problem => JSON.parse(body.toString());
