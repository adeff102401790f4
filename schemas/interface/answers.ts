import * as z from 'zod';
import { districtSlugPattern, rideIdPattern } from '../events/patterns.ts';

/**
 * Every object in the API's answers, with keys in the order in which they are sent. Strict: an answer has exactly these
 * fields (docs/rules.md#fields-of-answers, #bytes). The OpenAPI document is made from these without the strictness,
 * because the contract grows.
 */

/** Names of the OpenAPI document's components, with descriptions (docs/rules.md#openapi-schemas). */
export const answerRegistry = z.registry<{ id: string; description: string }>();

// Code generators make a type of an enum only where it is a component, with a name of its own.
const nightStatus = z
  .enum(['on', 'cancelled'])
  .register(answerRegistry, { id: 'NightStatus', description: 'Whether a night takes place.' });
const whyMine = z.enum(['led', 'going', 'ridden', 'saved']).register(answerRegistry, {
  id: 'Why',
  description:
    "Why a night is a rider's own: they led it, are going, rode it (they confirmed, and it is past), or saved it. Of " +
    'several, led comes first, then ridden, going and saved.',
});
const errorCode = z.enum(['invalid_request', 'not_found', 'invalid_key']).register(answerRegistry, {
  id: 'ErrorCode',
  description: 'invalid_request comes with status 400, not_found with 404, invalid_key with 401.',
});

const rideId = z.string().regex(rideIdPattern);
const day = z.iso.date();
const count = z.int().min(0);

const rideAndDay = {
  ride: rideId.describe("The ride's public id."),
  day: day.describe("The date the night meets on in its metro's zone, YYYY-MM-DD."),
};
const handleAndName = {
  handle: z.string().describe("The rider's handle."),
  name: z.string().nullable().describe('Display name.'),
};

/** An object of the answers, as a component with this name. */
const answer = <Fields extends z.ZodRawShape>(id: string, description: string, fields: Fields) =>
  z.strictObject(fields).register(answerRegistry, { id, description });

const meeting = answer('Meeting', 'Where a night meets, as a signed-out visitor sees it.', {
  withheld: z
    .boolean()
    .describe('True when the leader marked the meeting point secret: nothing about where it is is then published.'),
  place_name: z.string().nullable().describe('Name of the meeting place; null when withheld.'),
  neighbourhood: z
    .string()
    .nullable()
    .describe('Name of the district; when the point is withheld, present only if the leader chose to show it.'),
  neighbourhood_slug: z
    .string()
    .regex(districtSlugPattern)
    .nullable()
    .describe(
      'The district slug that the `where` filter takes; null where the neighbourhood is not shown or is a city ' +
        'rather than a district. Names can repeat across cities, slugs do not.',
    ),
});

const night = answer('Night', 'One date of one ride, readable by anybody; names no rider.', {
  ride: rideId.describe("The ride's public id."),
  title: z.string().describe("The ride's title."),
  day: day.describe(
    "The date it meets on in the metro's zone, YYYY-MM-DD. A night at 00:30 stands under its own date, not under the evening before.",
  ),
  meet_time: z
    .string()
    .regex(/^[0-2][0-9]:[0-5][0-9]$/)
    .nullable()
    .describe("Local wall-clock time in the metro's zone, HH:MM; null where none is given."),
  time_zone: z.string().describe("The metro's IANA time zone name."),
  status: nightStatus.describe('Cancelled nights stay listed.'),
  cancellation_reason: z.string().nullable().describe("The leader's reason when one was given."),
  past: z
    .boolean()
    .describe(
      "Whether the night's day is over: it turns true at the metro's local midnight, whatever the meet time is.",
    ),
  going_count: count.describe('How many riders are going; never who.'),
  meeting: meeting.describe('Where the night meets.'),
  url: z.url().describe("The night's web page."),
});

export const calendarDay = answer('Day', "One day of a metro's calendar.", {
  metro: z.string().describe('The metro slug.'),
  day: day.describe('The date, YYYY-MM-DD.'),
  nights: z.array(night).describe('The nights of that day.'),
});

export const ride = answer('Ride', 'One ride and the dates it meets.', {
  ride: rideId.describe('Public id.'),
  title: z.string().describe('Title.'),
  description: z.string().nullable().describe("The leader's own words, where there are any."),
  type: z.string().describe('Kind of ride.'),
  metro: z.string().describe('The metro slug.'),
  nights: z.array(night).describe("The nights the ride's page lists."),
  url: z.url().describe("The ride's web page."),
});

const flaggedRider = answer(
  'FlaggedRider',
  'A rider the reader flagged: display name and handle, nothing else.',
  handleAndName,
);

const flaggedNight = answer(
  'FlaggedNight',
  'One night with riders the reader flagged who said going or confirmed. Only ever answered to the rider who ' +
    'made the flags. A flag shows even when the flagged rider has blocked the reader.',
  {
    ...rideAndDay,
    riders: z.array(flaggedRider).min(1).describe('The flagged riders who said going or confirmed.'),
  },
);

export const flaggedNights = answer('FlaggedNights', 'Nights that riders whom the reader flagged are going to.', {
  nights: z.array(flaggedNight).describe('The nights that flagged riders are going to.'),
});

const myNight = answer('MyNight', "A night of the rider's own, and why it is theirs.", {
  night: night.describe('The night.'),
  // Which reason applies first is another order (docs/rules.md#why).
  why: whyMine.describe("Why the night is the rider's."),
});

export const myNights = answer('MyNights', "The rider's nights and why each is theirs.", {
  nights: z.array(myNight).describe("The rider's nights, from 30 days ago to 90 days ahead."),
  flagged: z.array(flaggedNight).describe('The riders the rider flagged on these nights.'),
});

const knownName = answer('KnownName', 'A rider the reader follows, by name.', {
  ...handleAndName,
  flagged: z.boolean().describe('Whether the reader flagged them.'),
});

const known = answer('Known', 'The riders the reader follows among those going to one night, with up to two names.', {
  ...rideAndDay,
  known: count.describe(
    'How many of the riders the reader follows are going. Close friends who are not followed do not count.',
  ),
  names: z.array(knownName).max(2).describe('Up to two of them.'),
});

export const knownNights = answer(
  'KnownNights',
  'The riders the reader follows among the people going, night by night.',
  { nights: z.array(known).describe('The nights somebody the reader follows is going to.') },
);

const friend = answer('Friend', 'Somebody the reader follows or marked a close friend, who is going.', {
  ...handleAndName,
  close: z.boolean().describe('Whether the reader marked them a close friend.'),
  following: z.boolean().describe('Whether the reader follows them.'),
  flagged: z.boolean().describe('Whether the reader flagged them.'),
});

const friendNight = answer('FriendNight', "One night the reader's friends are going to.", {
  night: night.describe('The night.'),
  friends: z.array(friend).min(1).describe('The friends who are going; close friends first.'),
});

export const friendNights = answer('FriendNights', "The rides the reader's friends are going to, night by night.", {
  nights: z.array(friendNight).describe('Nights with a close friend come first.'),
  flagged: z.array(flaggedNight).describe('The riders the reader flagged on those nights.'),
});

export const errorAnswer = answer('Error', 'Why a request was refused.', {
  error: errorCode.describe('What is wrong, as a word for programs.'),
  input: z.string().nullable().describe('Name of the input that is wrong, where there is one.'),
  detail: z.string().nullable().describe('A short reason for people.'),
});

/** RFC 9457: the body of failures for which the interface has no body of its own. */
export const problem = answer('Problem', 'A failure, as RFC 9457 tells one.', {
  title: z.string().describe("The status code's own phrase."),
  status: z.int().describe('The status code.'),
  detail: z.string().describe('What went wrong, and what to do about it.'),
});

export type ErrorAnswer = z.infer<typeof errorAnswer>;
export type Problem = z.infer<typeof problem>;
