import type { OperationName } from '../../schemas/interface/inputs.ts';
import {
  dayExample,
  flaggedNightsExample,
  friendNightsExample,
  knownNightsExample,
  myNightsExample,
  rideExample,
} from './openapi-examples.ts';
import { type Caching, shared } from './openapi-responses.ts';
import { componentRef, type Json } from './openapi-schemas.ts';

/** The interface's version (docs/rules.md#version). It rises when the contract grows. */
export const interfaceVersion = '2.1.0';

/** The one scope there is. */
export const scope = 'read';

interface Kind {
  security: Json[];
  caching: Caching;
  refusals: Json;
}

/** What operations of one tag have in common, such as who may ask (docs/rules.md#openapi-security). */
const kinds = {
  Interface: { security: [], caching: 'public', refusals: {} },
  Calendar: {
    security: [{ developerKey: [] }, { signIn: [scope] }],
    caching: 'calendar',
    refusals: { 401: shared('InvalidKey') },
  },
  Rider: { security: [{ signIn: [scope] }], caching: 'rider', refusals: { 401: shared('NoLiveToken') } },
} satisfies Record<string, Kind>;

export interface Operation {
  path: string;
  name: OperationName;
  tag: keyof typeof kinds;
  summary: string;
  description: string;
  answer: { schema: Json; description: string; example: unknown };
}

const answer = (name: string, description: string, example: unknown) => ({
  schema: { $ref: componentRef(name) },
  description,
  example,
});

const rangeWords = 'The range is at most 31 days: `to` is neither before `from` nor more than 31 days after it.';

/** Who may ask, and who may cache the answer. */
export const kindOf = ({ tag }: Operation): Kind => kinds[tag];

/** The seven operations (docs/rules.md#paths). */
export const operations: readonly Operation[] = [
  {
    path: '/openapi.json',
    name: 'getOpenApi',
    tag: 'Interface',
    summary: 'This description',
    description: 'The OpenAPI 3.1 description of this interface. Needs no credential.',
    answer: {
      schema: { type: 'object' },
      description: 'The description.',
      example: { openapi: '3.1.0', info: { title: 'Ride Calendar', version: interfaceVersion }, paths: {} },
    },
  },
  {
    path: '/metros/{metro}/days/{day}',
    name: 'getDay',
    tag: 'Calendar',
    summary: "One day of a metro's calendar",
    description:
      'The nights of one day, with filters: any of the items within one filter, all of the filters across them. ' +
      'Cancelled nights stay listed.',
    answer: answer('Day', 'The day; a day without nights has an empty list.', dayExample),
  },
  {
    path: '/rides/{ride}',
    name: 'getRide',
    tag: 'Calendar',
    summary: 'One ride and the dates it meets',
    description: 'A posted ride with every night its page lists, by its public id.',
    answer: answer('Ride', 'The ride.', rideExample),
  },
  {
    path: '/me/nights',
    name: 'getMyNights',
    tag: 'Rider',
    summary: "The rider's nights and why each is theirs",
    description: "Nights from 30 days ago to 90 days ahead, as the rider's own calendar shows them.",
    answer: answer('MyNights', "The rider's nights.", myNightsExample),
  },
  {
    path: '/me/known',
    name: 'getKnown',
    tag: 'Rider',
    summary: 'The riders the rider follows among the people going, night by night',
    description: `For each night in the range on which somebody the rider follows is going: how many, and up to two names. ${rangeWords}`,
    answer: answer('KnownNights', 'The nights somebody the rider follows is going to.', knownNightsExample),
  },
  {
    path: '/me/friends',
    name: 'getFriends',
    tag: 'Rider',
    summary: "The rides the rider's friends are going to, night by night",
    description:
      'Friends are the riders the rider follows plus those the rider marked close. Nights with a close friend come ' +
      `first; within a night, close friends come first. ${rangeWords}`,
    answer: answer('FriendNights', 'The nights friends are going to.', friendNightsExample),
  },
  {
    path: '/me/flagged',
    name: 'getFlagged',
    tag: 'Rider',
    summary: 'The nights a rider the rider flagged is going to',
    description:
      'The nights in the range where a flagged rider said going or confirmed, with those riders. Made for marking ' +
      `the public calendar's nights, which carry no flags. ${rangeWords}`,
    answer: answer('FlaggedNights', 'The nights flagged riders are going to.', flaggedNightsExample),
  },
];
