import type { IncomingHttpHeaders } from 'node:http';
import type { Inputs } from '../../schemas/interface/inputs.ts';
import { dayKey, metroKey, rideKey } from '../../schemas/views/view-kinds.ts';
import { type Answer, success } from '../messages/answer.ts';
import { noSuchMetroBody, noSuchRideBody, refuse, type Unauthorized } from '../messages/refusals.ts';
import type { TokenChecker } from '../ports/token-check.ts';
import { credentialViews, isLive, type TokenHolder, tokenHolder } from './credentials.ts';
import type { InputsResult } from './read-inputs.ts';
import { dayAt, isPast, secondsUntil } from './views/local-days.ts';
import { DayView, RideView } from './views/public-views.ts';
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
      const decide = (holder: TokenHolder): Answer | Promise<Answer> => {
        const credentials = credentialViews(headers, holder);
        if (credentials.length === 0) return noLiveKey(holder.tokenSent);
        const view = first === undefined ? null : cache.peek(first);
        if (view === undefined || !credentials.some((key) => cache.peek(key)))
          return readAndAnswer(read, credentials, holder, headers);
        // Everything is cached: no tick, no round trip.
        cache.hits += view === null ? 1 : 2;
        return view === null ? read.answer(headers) : read.answer(headers, view);
      };
      const holder = tokenHolder(headers, checker);
      return holder instanceof Promise ? holder.then(decide) : decide(holder);
    };
  };

  async function readAndAnswer(
    { keys, answer }: PublicRead,
    credentials: readonly string[],
    { rider, tokenSent }: TokenHolder,
    headers: IncomingHttpHeaders,
  ): Promise<Answer> {
    const views = await cache.load([...credentials, ...keys]);
    if (isLive(views.slice(0, credentials.length))) return answer(headers, ...views.slice(credentials.length));
    if (rider !== null) riderGone?.(rider);
    return noLiveKey(tokenSent);
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

/** getDay (docs/rules.md#filters, #etag, #max-age). */
function dayRead(inputs: Inputs<'getDay'>, { calendarNowMs, cacheSeconds }: ReadDeps): PublicRead {
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
        return success('empty', headers, publicCaching(cacheSeconds), body);
      }
      const now = calendarNowMs();
      const past = isPast(view.day, dayAt(view.zone, now));
      const selected = filtered ? view.select(inputs) : null;
      const changes = (today: number): boolean => isPast(view.day, today) !== past;
      const maxAge = selected?.length === 0 ? cacheSeconds : secondsUntil(view.zone, now, cacheSeconds, changes);
      return success(`${view.digest}-${past ? view.count : 0}`, headers, publicCaching(maxAge, cacheSeconds), () =>
        selected ? view.pick(selected, past) : view.body(past),
      );
    },
  };
}

/** getRide (docs/rules.md#etag, #max-age). */
function rideRead({ ride }: Inputs<'getRide'>, { calendarNowMs, cacheSeconds }: ReadDeps): PublicRead {
  return {
    keys: [rideKey(ride)],
    answer(headers, stored) {
      const view = stored!.as(rideView);
      if (view === null) return refuse.notFound(noSuchRideBody);
      const now = calendarNowMs();
      const past = view.pastCount(dayAt(view.zone, now));
      const changes = (today: number): boolean => view.pastCount(today) !== past;
      const maxAge = secondsUntil(view.zone, now, cacheSeconds, changes);
      return success(`${view.digest}-${past}`, headers, publicCaching(maxAge, cacheSeconds), () => view.body(past));
    },
  };
}

const dayView = (value: Buffer): DayView => new DayView(value);
const rideView = (value: Buffer): RideView => new RideView(value);

/**
 * `cacheSeconds` is CACHE_SECONDS. 0 means that clients must revalidate each time (docs/rules.md#cache-control, #max-age, #vary).
 */
const publicCaching = (maxAge: number, cacheSeconds = maxAge) => ({
  'Cache-Control': cacheSeconds > 0 ? `private, max-age=${maxAge}` : 'private, no-cache',
  Vary: 'Authorization, X-Api-Key, Accept-Encoding',
});
