import { answer, isLive } from '../../reference/answers.ts';
import { dayText } from '../../reference/dates.ts';
import type { Facts } from '../../reference/facts.ts';
import { type CalendarRequest, pathOf } from '../../reference/requests.ts';

/** Every answer of a running service, and what the reference says of each. */

export interface Question {
  path: string;
  headers: Record<string, string>;
  /** What the reference says: the status, and of a 200 the exact bytes. */
  wanted: { status: number; body?: string };
}

export type GotAnswer = { status: number; body: string; headers: Headers };

/** Of every day with nights and those around them, filters, every ride, what does not exist, dead keys, and all that these riders may ask. */
export function questionsOf(
  facts: Facts,
  clockMs: number,
  key: string,
  deadKeys: readonly string[],
  tokens: ReadonlyMap<string, string>,
): Question[] {
  const ask = (request: CalendarRequest, headers: Record<string, string>): Question => {
    const wanted = answer(facts, clockMs, request);
    return { path: pathOf(request), headers, wanted: wanted.status === 200 ? wanted : { status: wanted.status } };
  };
  if (!isLive(facts, key)) throw new Error('Cannot ask with a developer key that is not live.');
  const questions = [...publicRequests(facts)].map((request) => ask(request, { 'X-Api-Key': key }));
  const { path } = questions[0]!;
  for (const dead of deadKeys) questions.push({ path, headers: { 'X-Api-Key': dead }, wanted: { status: 401 } });
  for (const [rider, token] of tokens)
    for (const request of riderRequests(facts, rider))
      questions.push(ask(request, { Authorization: `Bearer ${token}` }));
  return questions;
}

function* publicRequests(facts: Facts): Generator<CalendarRequest> {
  for (const metro of facts.metros.keys()) {
    const days = new Set(daysIn(facts, metro).flatMap((day) => [day - 1, day, day + 1]));
    for (const day of days) yield { operation: 'getDay', metro, day: dayText(day) };
    const [some = 0] = days;
    yield { operation: 'getDay', metro, day: dayText(some + 1), q: 'ride', far: 'under_5,5_to_10' };
    yield { operation: 'getDay', metro, day: dayText(some + 1), who: 'General' };
  }
  for (const ride of facts.rides.keys()) yield { operation: 'getRide', ride };
  yield { operation: 'getRide', ride: 'nosuchride' };
  yield { operation: 'getDay', metro: 'no-such-metro', day: '2015-06-13' };
}

function* riderRequests(facts: Facts, rider: string): Generator<CalendarRequest> {
  yield { operation: 'getMyNights', rider };
  for (const metro of facts.metros.keys()) {
    const days = daysIn(facts, metro);
    if (days.length === 0) continue;
    const middle = days.sort((a, b) => a - b)[days.length >> 1]!;
    const range = { rider, metro, from: dayText(middle - 15), to: dayText(middle + 15) };
    for (const operation of ['getKnown', 'getFriends', 'getFlagged'] as const) yield { operation, ...range };
  }
}

/** The day of each night in a metro. */
const daysIn = (facts: Facts, metro: string): number[] =>
  [...facts.nights.values()].flatMap(({ ride, day }) => (facts.rides.get(ride)?.metro === metro ? [day] : []));

/** Every answer, several questions at once. */
export async function askAll(api: string, questions: readonly Pick<Question, 'path' | 'headers'>[]) {
  const got: GotAnswer[] = [];
  const left = questions.entries();
  const worker = async (): Promise<void> => {
    for (const [i, { path, headers }] of left) {
      // What is compressed has another ETag, and the first answer is not.
      const asked = { ...headers, 'Accept-Encoding': 'identity' };
      const response = await fetch(api + path, { headers: asked, redirect: 'manual' });
      got[i] = { status: response.status, body: await response.text(), headers: response.headers };
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return got;
}

/** What differs from the reference, a line each; empty where every answer is right. */
export function differences(questions: readonly Question[], got: readonly GotAnswer[]): string[] {
  return questions.flatMap(({ path, wanted }, i) => {
    const { status, body } = got[i]!;
    if (status !== wanted.status) return [`${path}: got ${status}, want ${wanted.status}`];
    if (wanted.body === undefined || body === wanted.body) return [];
    let at = 0;
    while (body[at] === wanted.body[at]) at++;
    const around = (text: string) => text.slice(Math.max(0, at - 40), at + 40);
    return [`${path}: got …${around(body)}…, want …${around(wanted.body)}…`];
  });
}
