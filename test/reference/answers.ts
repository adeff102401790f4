import { createHash } from 'node:crypto';
import type { Facts } from './facts.ts';
import { dayAnswer, rideAnswer } from './public-answers.ts';
import { type CalendarRequest, wrongInput } from './requests.ts';
import { flaggedAnswer, friendsAnswer, knownAnswer, myNightsAnswer } from './rider-answers.ts';

/**
 * The slow, obvious answer to every request, worked out from the facts alone: what the service is held to.
 * Independent of projector/ and api/ on purpose; from docs/rules.md only.
 */

export type ReferenceAnswer =
  /** `body` is the exact JSON text. */
  | { status: 200; body: string }
  | { status: 400; error: 'invalid_request'; input: string }
  /** On /me: the token's rider does not exist; no body. */
  | { status: 401 }
  | { status: 404; error: 'not_found'; input: string };

/** The answer at an instant (milliseconds since the epoch), for a caller whose key or token is live. */
export function answer(facts: Facts, clockMs: number, request: CalendarRequest): ReferenceAnswer {
  if ('rider' in request && !facts.riders.has(request.rider)) return { status: 401 };
  const wrong = wrongInput(request);
  if (wrong !== null) return { status: 400, error: 'invalid_request', input: wrong };
  const found = answered(facts, clockMs, request);
  if (found) return { status: 200, body: JSON.stringify(found) };
  return { status: 404, error: 'not_found', input: request.operation === 'getRide' ? 'ride' : 'metro' };
}

function answered(facts: Facts, clockMs: number, request: CalendarRequest): object | null {
  switch (request.operation) {
    case 'getDay':
      return dayAnswer(facts, clockMs, request.metro, request.day, request);
    case 'getRide':
      return rideAnswer(facts, clockMs, request.ride);
    case 'getMyNights':
      return myNightsAnswer(facts, clockMs, request.rider);
    case 'getKnown':
      return knownAnswer(facts, clockMs, request.rider, request);
    case 'getFriends':
      return friendsAnswer(facts, clockMs, request.rider, request, request.closeFriendsOnly === 'true');
    case 'getFlagged':
      return flaggedAnswer(facts, clockMs, request.rider, request);
  }
}

/** Whether a developer key's text is live: any current record has its SHA-256. */
export function isLive(facts: Facts, keyText: string): boolean {
  const hash = createHash('sha256').update(keyText, 'utf8').digest();
  return [...facts['developer-keys'].values()].some((key) => hash.equals(key.key_hash));
}
