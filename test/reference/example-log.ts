import { createHash } from 'node:crypto';
import type { TopicName, TopicRecords } from '../../schemas/events/records.ts';
import { dayOf } from './dates.ts';
import type { LoggedRecord } from './facts.ts';

/** Records for hand-written examples: each takes its id and what matters, the rest is plain. */

type Some<T> = Partial<T>;
/** Its value is that of its topic; in the order of the schema's fields. */
type Logged<T extends TopicName> = { topic: T; key: string; value: TopicRecords[T] };
const stamp = { revision: 1, changed_at: 0 };

/** A date's day number; throws for a text that is none. */
export function on(date: string): number {
  const day = dayOf(date);
  if (day === null) throw new Error(`Cannot use ${date} in an example: it is not a date, YYYY-MM-DD.`);
  return day;
}

export const gone = (topic: TopicName, key: string): LoggedRecord => ({ topic, key, value: null });

export function metro(id: string, some: Some<TopicRecords['metros']> = {}): Logged<'metros'> {
  const value = { metro: id, name: 'A town', time_zone: 'America/Los_Angeles', ...stamp, ...some };
  return { topic: 'metros', key: id, value };
}

export function district(id: string, some: Some<TopicRecords['districts']> = {}): Logged<'districts'> {
  const value = { district: id, metro: 'pdx', name: 'Alameda', kind: 'DISTRICT' as const, ...stamp, ...some };
  return { topic: 'districts', key: id, value };
}

export function rider(id: string, some: Some<TopicRecords['riders']> = {}): Logged<'riders'> {
  return { topic: 'riders', key: id, value: { rider: id, handle: `h-${id}`, name: id, ...stamp, ...some } };
}

export function ride(id: string, some: Some<TopicRecords['rides']> = {}): Logged<'rides'> {
  const plain = { ride: id, title: 'A ride', description: null, type: 'loop', metro: 'pdx' };
  const more = { distance: null, audience: null, leaders: [], posted: true, url: `https://x.example/${id}` };
  return { topic: 'rides', key: id, value: { ...plain, ...more, ...stamp, ...some } };
}

export function night(id: string, date: string, some: Some<TopicRecords['nights']> = {}): Logged<'nights'> {
  const plain = { ride: id, day: on(date), meet_time: null, status: 'ON' as const };
  const more = { cancellation_reason: null, meeting: null, url: `https://x.example/${id}/${date}` };
  return { topic: 'nights', key: `${id}/${date}`, value: { ...plain, ...more, ...stamp, ...some } };
}

export function place(some: Some<NonNullable<TopicRecords['nights']['meeting']>>): Some<TopicRecords['nights']> {
  return { meeting: { place_name: null, district: null, secret: false, show_neighbourhood: false, ...some } };
}

/** A developer key, live by its text. */
export function liveKey(text: string, id = 'some-key'): LoggedRecord {
  const key_hash = createHash('sha256').update(text).digest();
  return { topic: 'developer-keys', key: id, value: { key_id: id, key_hash, label: null, ...stamp } };
}

type Response = TopicRecords['attendance']['response'];

/** A rider's answer to a night: `says('r1', 'GOING', 'loop', '2015-06-13')`. */
export function says(who: string, response: Response, id: string, date: string, saved = false): Logged<'attendance'> {
  const value = { ride: id, day: on(date), rider: who, response, saved, ...stamp };
  return { topic: 'attendance', key: `${id}/${date}/${who}`, value };
}

type Mark = 'follows' | 'close' | 'flagged' | 'blocked';

/** How a rider relates to another: `marks('r1', 'r2', 'follows', 'flagged')`. */
export function marks(who: string, other: string, ...given: Mark[]): Logged<'relations'> {
  const has = (mark: Mark): boolean => given.includes(mark);
  const bits = { follows: has('follows'), close: has('close'), flagged: has('flagged'), blocked: has('blocked') };
  return { topic: 'relations', key: `${who}/${other}`, value: { rider: who, other, ...bits, ...stamp } };
}

/** An evening of 2015-06-13 in Portland, in UTC. */
export const evening = '2015-06-14T02:00:00Z';
