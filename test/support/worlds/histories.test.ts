import fc from 'fast-check';
import { expect, it } from 'vitest';
import { answer, isLive } from '../../reference/answers.ts';
import { badness, type Facts, latestRecords } from '../../reference/facts.ts';
import type { CalendarRequest } from '../../reference/requests.ts';
import { type History, worldArb } from './histories.ts';
import { clockArb, everyRequest, requestArb } from './request-arbs.ts';
import { keyTexts, secretMark } from './universe.ts';

/** How many of 50 worlds, each with three requests, show a thing at least. What answers show is in `sights`. */
const withNights = ['getDay', 'getRide', 'getMyNights', 'getKnown', 'getFriends', 'getFlagged'];
const shown: Record<string, number> = {
  ...Object.fromEntries(withNights.map((operation) => [`${operation} with nights`, 2])),
  'getRide 404': 1,
  'getMyNights 401': 1,
  'a live key': 10,
  'a key that is not live': 10,
  'a bad record': 20,
  'a secret place in the log': 30,
  'a block that hides somebody': 20,
};

it('worlds show every kind of answer often enough, and never a secret place', () => {
  const counts = new Map<string, number>();
  const saw = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const sampled = worldArb().chain((history) => {
    const requests = fc.array(requestArb(history), { minLength: 3, maxLength: 3 });
    return fc.tuple(fc.constant(history), clockArb(history), requests);
  });
  for (const [history, clockMs, requests] of fc.sample(sampled, { numRuns: 50, seed: 20150613 })) {
    const facts = latestRecords(history.records);
    for (const request of requests) {
      const found = answer(facts, clockMs, request);
      saw(`${request.operation} ${found.status}`);
      if (found.status === 200 && !/^\{"nights":\[\]|"nights":\[\],?("url"|\})/.test(found.body))
        saw(`${request.operation} with nights`);
    }
    saw(isLive(facts, keyTexts[0]!) ? 'a live key' : 'a key that is not live');
    if (history.records.some((record) => badness(record) !== null)) saw('a bad record');
    if (JSON.stringify(history.records).includes(secretMark)) saw('a secret place in the log');
    const whole = wholeAnswers(facts, history, clockMs);
    expect(whole).not.toContain(secretMark);
    if (whole !== wholeAnswers(withoutBlocks(facts), history, clockMs)) saw('a block that hides somebody');
    for (const [what, pattern] of Object.entries(sights)) if (pattern.test(whole)) saw(what);
  }
  const wanted = { ...Object.fromEntries(Object.keys(sights).map((what) => [what, 10])), ...shown };
  expect(Object.entries(wanted).filter(([what, least]) => (counts.get(what) ?? 0) < least)).toEqual([]);
});

const sights = {
  'two nights of one day':
    /"metro":"[a-z-]+","day":"[-0-9]+","nights":\[\{(?:(?!"meeting").)*"meeting":\{[^}]*\}[^}]*\},\{/,
  'a past night': /"past":true/,
  'a night to come': /"past":false/,
  'a cancelled night with its reason': /"cancelled","cancellation_reason":"/,
  'a withheld night that shows its neighbourhood': /"withheld":true,"place_name":null,"neighbourhood":"/,
  'a city': /"neighbourhood":"[^"]*","neighbourhood_slug":null/,
  'a night led': /"why":"led"/,
  'a night ridden': /"why":"ridden"/,
  'a night gone to': /"why":"going"/,
  'a night saved': /"why":"saved"/,
  'more known than named': /"known":[3-9]/,
  'a close friend': /"close":true,"following":false/,
  'a flagged friend': /"following":true,"flagged":true/,
  'a flagged rider': /"flagged":\[\{"ride":/,
};

function wholeAnswers(facts: Facts, history: History, clockMs: number): string {
  const isTelling = (request: CalendarRequest): boolean => !('from' in request) || request.metro === 'portland';
  return everyRequest(history)
    .filter(isTelling)
    .map((request) => answer(facts, clockMs, request))
    .map((found) => (found.status === 200 ? found.body : ''))
    .join('\n');
}

function withoutBlocks(facts: Facts): Facts {
  const relations = [...facts.relations].map(([key, value]) => [key, { ...value, blocked: false }] as const);
  return { ...facts, relations: new Map(relations) };
}
