import type { IncomingHttpHeaders } from 'node:http';
import type { Inputs } from '../../schemas/interface/inputs.ts';
import { completeKeyOf, dayKey, metroKey, rideKey } from '../../schemas/views/view-keys.ts';
import { type Answer, success, UnavailableError } from '../http/answer.ts';
import { noSuchMetroBody, noSuchRideBody } from '../http/errors.ts';
import { refuse, type Unauthorized } from '../http/refusals.ts';
import type { TokenChecker } from '../tokens/access-token.ts';
import { credentialViews, isLive, type TokenHolder, tokenHolder } from './credentials.ts';
import { DayView } from './day-view.ts';
import type { InputsResult } from './inputs.ts';
import type { LocalDays } from './local-days.ts';
import { RideView } from './ride-view.ts';
import type { Entry, ViewCache } from './view-cache.ts';

export interface PublicReadDeps {
  cache: ViewCache;
  checker: TokenChecker;
  localDays: LocalDays;
  /** Milliseconds since the epoch. NOW sets it. */
  calendarNowMs(): number;
  cacheSeconds: number;
  /** Called when a token's rider no longer exists. */
  riderGone?(rider: string): void;
}

/** Answers a request by its headers. Its target is known already. */
export type Reading = (headers: IncomingHttpHeaders) => Answer | Promise<Answer>;

/** Views by key. An entry's value is null if the view is absent. */
type Views = (key: string) => Entry | undefined;

/** What one target needs from the store, and how it is answered. */
interface PublicRead {
  /** The view that is enough if it exists. Null if none is needed. */
  view: string | null;
  /** Keys of the views that say what the view's absence means. */
  ifAbsent: readonly string[];
  answer(views: Views, ifNoneMatch: string | undefined): Answer;
}

/** The public layer. Each target is parsed once, then answered from memory or in one round trip. */
export function publicReads(deps: PublicReadDeps, { noLiveKey }: Unauthorized) {
  const { cache, checker, riderGone } = deps;
  const kept: Views = (key) => cache.peek(key);

  const reading =
    ({ view, ifAbsent, answer }: PublicRead): Reading =>
    (headers) => {
      const decide = (holder: TokenHolder): Answer | Promise<Answer> => {
        const credentials = credentialViews(headers, holder);
        if (credentials.length === 0) return noLiveKey(holder.tokenSent);
        const ifNoneMatch = headers['if-none-match'];
        // Everything is cached: no tick, no round trip.
        if ((view === null || kept(view)) && credentials.some(kept)) {
          cache.answered(view === null ? 1 : 2);
          return answer(kept, ifNoneMatch);
        }
        const keys = [...credentials, ...credentials.map(completeKeyOf), ...(view === null ? [] : [view]), ...ifAbsent];
        return cache.load(keys).then((entries) => {
          const views: Views = (key) => entries[keys.indexOf(key)];
          if (!isLive(credentials, (key) => views(key)?.value != null)) {
            if (holder.rider !== null) riderGone?.(holder.rider);
            return noLiveKey(holder.tokenSent);
          }
          return answer(views, ifNoneMatch);
        });
      };
      const holder = tokenHolder(headers, checker);
      return holder instanceof Promise ? holder.then(decide) : decide(holder);
    };

  return {
    day: (inputs: InputsResult<'getDay'>): Reading => reading(inputs.ok ? dayRead(inputs.inputs, deps) : wrong(inputs)),
    ride: (inputs: InputsResult<'getRide'>): Reading =>
      reading(inputs.ok ? rideRead(inputs.inputs, deps) : wrong(inputs)),
  };
}

const wrong = ({ input, detail }: { input: string; detail: string }): PublicRead => ({
  view: null,
  ifAbsent: [],
  answer: () => refuse.invalid(input, detail),
});

/** getDay (docs/rules.md#paths, #filters). */
function dayRead(inputs: Inputs<'getDay'>, { localDays, calendarNowMs, cacheSeconds }: PublicReadDeps): PublicRead {
  const { metro, day } = inputs;
  const key = dayKey(metro, day);
  const keyOfMetro = metroKey(metro);
  const filtered = Boolean(inputs.q !== undefined || inputs.far || inputs.who || inputs.where);

  /**
   * The answer for a day that has no view: an empty day if the metro exists, a 404 if it does not. Both only if that is
   * certain (docs/rules.md#unknown-metro, #absence).
   */
  const absent = (views: Views, ifNoneMatch: string | undefined): Answer => {
    if (!views(keyOfMetro)?.value) {
      needComplete(views, keyOfMetro);
      return refuse.notFound(noSuchMetroBody);
    }
    needComplete(views, key);
    const body = Buffer.from(`{"metro":"${metro}","day":"${day}","nights":[]}`);
    return success('"empty"', ifNoneMatch, publicCaching(cacheSeconds), () => body);
  };

  return {
    view: key,
    ifAbsent: [keyOfMetro, completeKeyOf(key), completeKeyOf(keyOfMetro)],
    answer(views, ifNoneMatch) {
      const entry = views(key);
      if (!entry?.value) return absent(views, ifNoneMatch);
      const view = entry.as((value) => new DayView(value));
      const now = calendarNowMs();
      const past = localDays.dayAt(view.zone, now) > view.day;
      const selected = filtered ? view.select(inputs) : null;
      const changes = (today: number): boolean => today > view.day !== past;
      const maxAge =
        cacheSeconds === 0 || (selected?.length ?? view.count) === 0
          ? cacheSeconds
          : localDays.secondsUntil(view.zone, now, cacheSeconds, changes);
      return success(
        `"${view.digest}-${past ? view.count : 0}"`,
        ifNoneMatch,
        publicCaching(maxAge, cacheSeconds),
        () => (selected ? view.pick(selected, past) : view.body(past)),
      );
    },
  };
}

/** getRide (docs/rules.md#paths). */
function rideRead({ ride }: Inputs<'getRide'>, { localDays, calendarNowMs, cacheSeconds }: PublicReadDeps): PublicRead {
  const key = rideKey(ride);
  return {
    view: key,
    ifAbsent: [completeKeyOf(key)],
    answer(views, ifNoneMatch) {
      const entry = views(key);
      if (!entry?.value) {
        needComplete(views, key);
        return refuse.notFound(noSuchRideBody);
      }
      const view = entry.as((value) => new RideView(value));
      const now = calendarNowMs();
      const past = view.pastCount(localDays.dayAt(view.zone, now));
      const changes = (today: number): boolean => view.pastCount(today) !== past;
      const maxAge = cacheSeconds === 0 ? 0 : localDays.secondsUntil(view.zone, now, cacheSeconds, changes);
      return success(`"${view.digest}-${past}"`, ifNoneMatch, publicCaching(maxAge, cacheSeconds), () =>
        view.body(past),
      );
    },
  };
}

function needComplete(views: Views, view: string): void {
  if (!views(completeKeyOf(view))?.value) throw new UnavailableError('the store is not known to be complete here');
}

/**
 * `cacheSeconds` is CACHE_SECONDS. 0 means that clients must revalidate each time (docs/rules.md#cache-control, #vary).
 */
const publicCaching = (maxAge: number, cacheSeconds = maxAge) => ({
  'Cache-Control': cacheSeconds > 0 ? `private, max-age=${maxAge}` : 'private, no-cache',
  Vary: 'Authorization, X-Api-Key',
});
