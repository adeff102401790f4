import type { IncomingHttpHeaders } from 'node:http';
import type { Inputs } from '../../schemas/interface/inputs.ts';
import { dayKey, metroKey, rideKey } from '../../schemas/views/view-kinds.ts';
import { type Answer, success } from '../messages/answer.ts';
import type { EncodedBody } from '../messages/encoded-body.ts';
import { noSuchMetroBody, noSuchRideBody, refuse, type Unauthorized } from '../messages/refusals.ts';
import type { TokenChecker } from '../ports/token-check.ts';
import { bearerToken, credentialViews, isLive } from './credentials.ts';
import type { InputsResult } from './read-inputs.ts';
import { dayAt, secondsUntil } from './views/local-days.ts';
import { DayView, type PublicView, RideView } from './views/public-views.ts';
import type { Entry, ViewCache } from './views/view-cache.ts';

/** What reads of both layers need. */
export interface ReadDeps {
  cache: ViewCache;
  checker: TokenChecker;
  /** Milliseconds since the epoch. NOW sets it. */
  calendarNowMs(): number;
  cacheSeconds: number;
  /** Called when a token's rider no longer exists. */
  riderGone?(rider: string): void;
}

/** Answers a request by its headers. The target was parsed before. */
export type Reading = (headers: IncomingHttpHeaders) => Answer | Promise<Answer>;

/** What one target needs from the store, and how it is answered. */
interface PublicRead {
  /** Keys of views. The first is enough if it exists; the others say what its absence means. */
  keys: readonly string[];
  /** `views`: those of the keys, or the first alone if it exists. */
  answer(headers: IncomingHttpHeaders, ...views: Entry[]): Answer;
}

/** The public layer. Each target is parsed once, then answered from memory or in one round trip. */
export function publicReads(deps: ReadDeps, { noLiveKey }: Unauthorized) {
  const { cache, checker, riderGone } = deps;

  /** Credentials come first (docs/rules.md#order-of-checks); then the answer: inputs, existence, preconditions. */
  const reading = (read: PublicRead): Reading => {
    const [first] = read.keys;
    return (headers) => {
      const token = bearerToken(headers);
      const decide = (rider: string | null): Answer | Promise<Answer> => {
        const credentials = credentialViews(headers, rider);
        if (credentials.length === 0) return noLiveKey(token !== null);
        const view = first === undefined ? null : cache.peek(first);
        if (view === undefined || !credentials.some((key) => cache.peek(key)))
          return readAndAnswer(read, credentials, rider, headers);
        // Everything is cached: no tick, no round trip. Wrong inputs have no view, and look at none.
        cache.hits += view === null ? 1 : 2;
        return read.answer(headers, view!);
      };
      const rider = token && checker.check(token);
      return rider instanceof Promise ? rider.then(decide) : decide(rider);
    };
  };

  async function readAndAnswer(
    { keys, answer }: PublicRead,
    credentials: readonly string[],
    rider: string | null,
    headers: IncomingHttpHeaders,
  ): Promise<Answer> {
    const views = await cache.load([...credentials, ...keys]);
    if (isLive(views.slice(0, credentials.length))) return answer(headers, ...views.slice(credentials.length));
    if (rider !== null) riderGone?.(rider);
    return noLiveKey(bearerToken(headers) !== null);
  }

  return {
    day: (inputs: InputsResult<'getDay'>): Reading => reading(inputs.ok ? dayRead(inputs.inputs, deps) : wrong(inputs)),
    ride: (inputs: InputsResult<'getRide'>): Reading =>
      reading(inputs.ok ? rideRead(inputs.inputs, deps) : wrong(inputs)),
  };
}

const wrong = ({ input, detail }: { input: string; detail: string }): PublicRead => ({
  keys: [],
  answer: () => refuse.invalid(input, detail),
});

/** getDay (docs/rules.md#filters). */
function dayRead(inputs: Inputs<'getDay'>, deps: ReadDeps): PublicRead {
  const { metro, day } = inputs;
  const filtered = Boolean(inputs.q !== undefined || inputs.far || inputs.who || inputs.where);
  return {
    keys: [dayKey(metro, day), metroKey(metro)],
    answer(headers, stored, ofMetro) {
      // docs/rules.md#unknown-metro
      if (!stored!.isThere && ofMetro!.value === null) return refuse.notFound(noSuchMetroBody);
      const view = stored!.as(dayView);
      if (view === null) {
        const body = (): Buffer => Buffer.from(`{"metro":"${metro}","day":"${day}","nights":[]}`);
        return success('empty', headers, publicCaching(deps.cacheSeconds), body);
      }
      if (!filtered) return answerOf(view, headers, deps);
      const selected = view.select(inputs);
      return answerOf(view, headers, deps, selected.length === 0, (pastCount) => view.pick(selected, pastCount));
    },
  };
}

const rideRead = ({ ride }: Inputs<'getRide'>, deps: ReadDeps): PublicRead => ({
  keys: [rideKey(ride)],
  answer(headers, stored) {
    const view = stored!.as(rideView);
    return view === null ? refuse.notFound(noSuchRideBody) : answerOf(view, headers, deps);
  },
});

/** A view's answer (docs/rules.md#etag, #max-age). `isEmpty`: it shows no night, so no midnight changes it. */
function answerOf(
  view: PublicView,
  headers: IncomingHttpHeaders,
  { calendarNowMs, cacheSeconds }: ReadDeps,
  isEmpty = false,
  body = (pastCount: number): EncodedBody => view.body(pastCount),
): Answer {
  const now = calendarNowMs();
  const pastCount = view.pastCount(dayAt(view.zone, now));
  const changes = (today: number): boolean => view.pastCount(today) !== pastCount;
  const maxAge = isEmpty ? cacheSeconds : secondsUntil(view.zone, now, cacheSeconds, changes);
  const caching = publicCaching(maxAge, cacheSeconds);
  return success(`${view.digest}-${pastCount}`, headers, caching, () => body(pastCount));
}

const dayView = (value: Buffer): DayView => new DayView(value);
const rideView = (value: Buffer): RideView => new RideView(value);

/** `cacheSeconds`: CACHE_SECONDS; with 0 clients ask again each time (docs/rules.md#cache-control, #max-age, #vary). */
const publicCaching = (maxAge: number, cacheSeconds = maxAge) => ({
  'Cache-Control': cacheSeconds > 0 ? `private, max-age=${maxAge}` : 'private, no-cache',
  Vary: 'Authorization, X-Api-Key, Accept-Encoding',
});
