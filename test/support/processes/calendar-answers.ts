import { setTimeout as sleep } from 'node:timers/promises';
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

export interface GotAnswer {
  status: number;
  body: string;
  etag: string | null;
}

/** Who may ask: developer keys' texts, and a token for a rider. */
interface Askers {
  key: string;
  /** Unknown or deleted keys. */
  deadKeys?: readonly string[];
  tokens?: ReadonlyMap<string, string>;
}

/**
 * A question for every day that has nights and those around them, filtered ones, every ride, what does not exist, dead
 * keys, and every operation of the riders that there are tokens for.
 */
export function questionsOf(facts: Facts, clockMs: number, { key, deadKeys = [], tokens }: Askers): Question[] {
  const ask = (request: CalendarRequest, headers: Record<string, string>): Question => {
    const wanted = answer(facts, clockMs, request);
    return {
      path: pathOf(request),
      headers,
      wanted: wanted.status === 200 ? { status: 200, body: wanted.body } : { status: wanted.status },
    };
  };
  if (!isLive(facts, key)) throw new Error('Cannot ask with a developer key that is not live.');
  const withKey = { 'X-Api-Key': key };
  const questions = [...publicRequests(facts)].map((request) => ask(request, withKey));
  const first = questions[0]!;
  for (const dead of deadKeys) {
    questions.push({ path: first.path, headers: { 'X-Api-Key': dead }, wanted: { status: 401 } });
  }
  for (const [rider, token] of tokens ?? []) {
    for (const request of riderRequests(facts, rider)) {
      questions.push(ask(request, { Authorization: `Bearer ${token}` }));
    }
  }
  return questions;
}

export function* publicRequests(facts: Facts): Generator<CalendarRequest> {
  for (const metro of facts.metros.keys()) {
    const days = new Set<number>();
    for (const { ride, day } of facts.nights.values()) {
      if (facts.rides.get(ride)?.metro === metro) for (const near of [day - 1, day, day + 1]) days.add(near);
    }
    for (const day of days) yield { operation: 'getDay', metro, day: dayText(day) };
    const [some = 0] = days;
    yield { operation: 'getDay', metro, day: dayText(some + 1), q: 'ride', far: 'under_5,5_to_10' };
    yield { operation: 'getDay', metro, day: dayText(some + 1), who: 'General' };
  }
  for (const ride of facts.rides.keys()) yield { operation: 'getRide', ride };
  yield { operation: 'getRide', ride: 'nosuchride' };
  yield { operation: 'getDay', metro: 'no-such-metro', day: '2015-06-13' };
}

export function* riderRequests(facts: Facts, rider: string): Generator<CalendarRequest> {
  yield { operation: 'getMyNights', rider };
  for (const metro of facts.metros.keys()) {
    const days = [...facts.nights.values()].flatMap(({ ride, day }) =>
      facts.rides.get(ride)?.metro === metro ? [day] : [],
    );
    if (days.length === 0) continue;
    const middle = days.sort((a, b) => a - b)[days.length >> 1]!;
    const range = { rider, metro, from: dayText(middle - 15), to: dayText(middle + 15) };
    yield { operation: 'getKnown', ...range };
    yield { operation: 'getFriends', ...range };
    yield { operation: 'getFlagged', ...range };
  }
}

async function askOne(api: string, { path, headers }: Question): Promise<GotAnswer> {
  // What is compressed has another ETag, and the first answer is not.
  const asked = { ...headers, 'Accept-Encoding': 'identity' };
  const response = await fetch(api + path, { headers: asked, signal: AbortSignal.timeout(15_000) });
  return { status: response.status, body: await response.text(), etag: response.headers.get('etag') };
}

/** Every answer by what was asked, several questions at once. */
export async function askAll(api: string, questions: readonly Question[]): Promise<Map<string, GotAnswer>> {
  const got = new Map<string, GotAnswer>();
  const left = questions.entries();
  const worker = async (): Promise<void> => {
    for (const [i, question] of left) got.set(`${i} ${question.path}`, await askOne(api, question));
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return new Map([...got].sort(([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10)));
}

/** What differs from the reference, a line each; empty where every answer is right. */
export function differences(questions: readonly Question[], got: ReadonlyMap<string, GotAnswer>): string[] {
  const answers = [...got.values()];
  return questions.flatMap((question, i) => {
    const wrong = wrongness(question, answers[i]!);
    return wrong ? [`${question.path}: ${wrong}`] : [];
  });
}

function wrongness({ wanted }: Question, got: GotAnswer): string | null {
  if (got.status !== wanted.status) return `got ${got.status}, want ${wanted.status}`;
  if (wanted.body === undefined || got.body === wanted.body) return null;
  let at = 0;
  while (got.body[at] === wanted.body[at]) at++;
  return `got …${got.body.slice(Math.max(0, at - 40), at + 40)}…, want …${wanted.body.slice(Math.max(0, at - 40), at + 40)}…`;
}

/** Asks until every answer is right; what still differs after `timeoutMs`. */
export async function differencesAfter(api: string, questions: readonly Question[], timeoutMs: number) {
  for (const end = performance.now() + timeoutMs; ; await sleep(200)) {
    const wrong = await askAll(api, questions).then((got) => differences(questions, got), String);
    if (wrong.length === 0 || performance.now() > end) return wrong;
  }
}

/** Readers who ask all the while: every answer must be right, or 503. */
export class Hammer {
  readonly wrong: string[] = [];
  right = 0;
  refused = 0;
  #stopped = false;
  readonly #workers: Promise<void>[];

  constructor(api: string, questions: readonly Question[]) {
    this.#workers = Array.from({ length: 4 }, (_, i) => this.#work(api, questions, i * 37));
  }

  async #work(api: string, questions: readonly Question[], from: number): Promise<void> {
    for (let i = from; !this.#stopped; i++) {
      const question = questions[i % questions.length]!;
      try {
        const got = await askOne(api, question);
        if (got.status === 503) this.refused++;
        else {
          const wrong = wrongness(question, got);
          if (wrong) this.wrong.push(`${question.path}: ${wrong}`);
          else this.right++;
        }
        // A client told to retry does not do it at once, and no client may take the core that the service needs.
        await sleep(got.status === 503 ? 5 : 2);
      } catch (error) {
        this.wrong.push(`${question.path}: no answer, ${(error as Error).message}`);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers);
  }
}
