import { calendar } from '../../../api/calendar/calendar.ts';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { textOf } from '../../../api/messages/answer.ts';
import { routePath, splitTarget } from '../../../api/messages/target.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { idPattern } from '../../../schemas/events/patterns.ts';
import { UsageError } from '../../cli/io.ts';
import { ownKey, withKey } from '../../serve/http/own-key.ts';
import { factsViewReader } from './facts-view-reader.ts';
import { fieldNameOf } from './touched-views.ts';

/** An answer of the interface. `etag` has its quotes. Null without one. */
export interface PastAnswer {
  status: number;
  etag: string | null;
  body: string;
  /** No midnight before this instant changes it. Null: not known, as of a rider's own answers. */
  steadyUntilMs: number | null;
}

/** A request of the interface, e.g. `/rides/sh20r6756`, and the rider who sends it. */
export interface PastRequest {
  /** Path and query below the base path. It begins with a slash. */
  target: string;
  rider: string | null;
}

/** The targets of public answers, by the ids of their views. */
export const targets = {
  day: (id: string): string => `/metros/${id.replace('/', '/days/')}`,
  ride: (id: string): string => `/rides/${id}`,
};

/** Answers requests from facts, at any time, with the API's own code, and without credentials: the user has the log. */
export class PastAnswers {
  readonly reader: ReturnType<typeof factsViewReader>;
  /** The names of the views that the last answer was made of, even of those that do not exist. */
  used = new Set<string>();
  readonly #answer: ReturnType<typeof calendar>;
  readonly #key = ownKey();
  #clockMs = 0;

  constructor(facts: Facts) {
    this.reader = factsViewReader(facts, (key, fields) => {
      for (const field of fields) this.used.add(fieldNameOf(key, field));
    });
    const onUsed = (key: string) => this.used.add(key);
    this.#answer = calendar({
      baseUrl,
      cache: new ViewCache(withKey(this.reader, this.#key), { bytesMax: cacheBytesMax, onUsed }),
      calendarNowMs: () => this.#clockMs,
      cacheSeconds: steadySeconds,
      checker: { check: (rider) => rider },
      openApi: Buffer.from(JSON.stringify(openApiDocument(baseUrl))),
      onFault(cause) {
        throw cause;
      },
    });
  }

  async ask({ target, rider }: PastRequest, clockMs: number): Promise<PastAnswer> {
    this.#clockMs = clockMs;
    this.used = new Set();
    const headers = rider === null ? { 'x-api-key': this.#key } : { authorization: `Bearer ${rider}` };
    const handled = this.#answer({ method: 'GET', url: basePath + target, headers });
    if (!handled) throw new Error(`Cannot answer ${target}: it is no path of the interface`);
    const answer = await handled.answer;
    const { status, headers: sent } = answer;
    const steadyUntilMs = rider === null ? steadyUntil(clockMs, sent['Cache-Control']) : null;
    return { status, etag: sent.ETag ?? null, body: textOf(answer), steadyUntilMs };
  }
}

/** What one answer is made of fits, so that only changed views are rendered again. */
const cacheBytesMax = 32 << 20;
/** How far ahead answers look for a midnight that changes them. */
const steadySeconds = 7 * 86_400;

/** The end of an answer's max-age, which is in whole seconds, as midnights are (docs/rules.md#max-age). */
function steadyUntil(clockMs: number, caching: string | undefined): number {
  const [, seconds] = /max-age=(\d+)/.exec(caching ?? '') ?? [];
  // An answer that must not be cached, such as a 404, has nothing that midnights change.
  return seconds === undefined ? Number.POSITIVE_INFINITY : Math.ceil(clockMs / 1000 + Number(seconds)) * 1000;
}

/** JSON of an object with one more member, the answer, whose bytes stay as they are. */
export const withAnswer = (object: object, body: string): string =>
  `${JSON.stringify(object).slice(0, -1)},"answer":${body === '' ? 'null' : body}}`;

/** Requests of the past are made below it. Answers do not depend on it. */
const basePath = '/api';
const baseUrl = `http://127.0.0.1${basePath}`;

/** Parses a path given to a command: with or without the base path, or a whole URL. Throws UsageError. */
export function requestOf(
  command: string,
  path: string,
  rider: string | undefined,
  settingsBasePath: string,
): PastRequest {
  const target = targetOf(path, settingsBasePath);
  const route = routePath('', splitTarget(target).path);
  if (!route)
    throw new UsageError(
      `Cannot run ${command}: ${JSON.stringify(path)} is no path of the interface, want such as /metros/portland/days/2015-06-13, /rides/pp15r4935 or /me/nights`,
    );
  checkRider(command, rider);
  const isRiders = !['getDay', 'getRide', 'getOpenApi'].includes(route.operation);
  if (isRiders && rider === undefined)
    throw new UsageError(`Cannot run ${command}: ${JSON.stringify(path)} is a rider's own, want --rider ID`);
  return { target, rider: isRiders ? rider! : null };
}

/** Throws UsageError if the value of --rider is not a rider id. The message doesn't repeat it. */
export function checkRider(command: string, rider: string | undefined): void {
  if (rider === undefined || idPattern.test(rider)) return;
  throw new UsageError(
    `Cannot run ${command}: --rider is not a rider id, want 1 to 64 letters, digits, _ or -, such as r0020`,
  );
}

function targetOf(path: string, settingsBasePath: string): string {
  const url = /^https?:\/\/[^/]+/.exec(path);
  let target = url ? path.slice(url[0].length) : path;
  if (!target.startsWith('/')) target = `/${target}`;
  for (const base of [settingsBasePath, basePath]) {
    if (base !== '' && target.startsWith(`${base}/`)) return target.slice(base.length);
  }
  return target;
}
