import type { TopicName } from '../../../schemas/events/records.ts';

/** A record of each topic, in JSON: docs/example-records.jsonl has them too. */
export const exampleRecords: Record<TopicName, { key: string; value: object }> = {
  metros: {
    key: 'portland',
    value: {
      metro: 'portland',
      name: 'Portland',
      time_zone: 'America/Los_Angeles',
      revision: 1,
      changed_at: '2026-11-01T09:00:00Z',
    },
  },
  districts: {
    key: 'kenton',
    value: {
      district: 'kenton',
      metro: 'portland',
      name: 'Kenton',
      kind: 'DISTRICT',
      revision: 1,
      changed_at: '2026-11-01T09:00:00Z',
    },
  },
  'developer-keys': {
    key: 'night-app',
    value: {
      key_id: 'night-app',
      key_hash: '28ef496ef04cf92ff8b40fe7e6ed94ea93202dd05cbc38847df43b50210199c3',
      label: 'Night app',
      revision: 1,
      changed_at: '2026-11-01T09:00:00Z',
    },
  },
  riders: {
    key: 'u_ada',
    value: { rider: 'u_ada', handle: 'ada', name: 'Ada', revision: 1, changed_at: '2026-11-01T09:00:00Z' },
  },
  rides: {
    key: 'taco',
    value: {
      ride: 'taco',
      title: 'Taco Tuesday',
      description: 'Slow, with stops.',
      type: 'social',
      metro: 'portland',
      distance: 'FROM_5_TO_10',
      audience: 'GENERAL',
      leaders: ['u_ada'],
      posted: true,
      url: 'https://rides.example/taco',
      revision: 1,
      changed_at: '2026-11-01T09:00:00Z',
    },
  },
  nights: {
    key: 'taco/2026-11-24',
    value: {
      ride: 'taco',
      day: '2026-11-24',
      meet_time: '18:30',
      status: 'ON',
      cancellation_reason: null,
      meeting: { place_name: 'Kenton Park', district: 'kenton', secret: false, show_neighbourhood: true },
      url: 'https://rides.example/taco/2026-11-24',
      revision: 1,
      changed_at: '2026-11-01T09:00:00Z',
    },
  },
  attendance: {
    key: 'taco/2026-11-24/u_bo',
    value: {
      ride: 'taco',
      day: '2026-11-24',
      rider: 'u_bo',
      response: 'GOING',
      saved: true,
      revision: 1,
      changed_at: '2026-11-02T09:00:00Z',
    },
  },
  relations: {
    key: 'u_ada/u_bo',
    value: {
      rider: 'u_ada',
      other: 'u_bo',
      follows: true,
      close: false,
      flagged: false,
      blocked: false,
      revision: 1,
      changed_at: '2026-11-02T09:00:00Z',
    },
  },
};
