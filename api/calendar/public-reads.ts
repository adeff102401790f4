import type { Inputs } from '../../schemas/interface/inputs.ts';
import { completeKey, dayKey, metroKey, rideKey, tagOf } from '../../schemas/views/view-keys.ts';
import { type Answer, corsHeaders, UnavailableError } from '../http/answer.ts';
import { errorContentType, noSuchMetroBody, noSuchRideBody } from '../http/errors.ts';
import { matchesEtag } from '../http/etag.ts';
import { DayView } from './day-view.ts';
import type { LocalDays } from './local-days.ts';
import { RideView } from './ride-view.ts';
import type { Entry } from './view-cache.ts';

/** What public answers depend on besides views: the calendar's clock, and how long they may be kept. */
export interface PublicReadContext {
  localDays: LocalDays;
  /** Milliseconds since the epoch; NOW rules it. */
  calendarNowMs(): number;
  cacheSeconds: number;
}

/** Views by key, as loaded; an entry's value is null where the view is absent. */
export type Views = (key: string) => Entry | undefined;

/** Answers an operation from the views of its keys. */
export type PublicAnswer<O extends 'getDay' | 'getRide'> = (
  inputs: Inputs<O>,
  keys: Keys,
  views: Views,
  ifNoneMatch: string | undefined,
  context: PublicReadContext,
) => Answer;

// docs/rules.md#vary
const vary = 'Authorization, X-Api-Key';

/** Keys of the views that an answer needs: the first alone is enough where it is there; the others say what its absence means. */
export type Keys = readonly string[];

export function dayKeys({ metro, day }: Inputs<'getDay'>): Keys {
  const id = `${metro}/${day}`;
  return [dayKey(metro, day), metroKey(metro), completeKey(tagOf(id)), completeKey(tagOf(metro))];
}

export function rideKeys({ ride }: Inputs<'getRide'>): Keys {
  return [rideKey(ride), completeKey(tagOf(ride))];
}

/** getDay (docs/rules.md#paths, #filters). */
export function answerDay(
  inputs: Inputs<'getDay'>,
  keys: Keys,
  views: Views,
  ifNoneMatch: string | undefined,
  context: PublicReadContext,
): Answer {
  const entry = views(keys[0]!);
  if (!entry?.value) return answerAbsentDay(inputs, keys, views, ifNoneMatch, context);
  const view = entry.as((value) => new DayView(value));
  const now = context.calendarNowMs();
  const past = context.localDays.dayAt(view.zone, now) > view.day;
  const etag = `"${view.digest}-${past ? view.count : 0}"`;
  const filtered = inputs.q !== undefined || inputs.far || inputs.who || inputs.where;
  const maxAge = (nights: number): number =>
    nights === 0
      ? context.cacheSeconds
      : context.localDays.secondsUntil(view.zone, now, context.cacheSeconds, (today) => today > view.day !== past);
  if (!filtered)
    return publicAnswer(
      etag,
      ifNoneMatch,
      context,
      () => maxAge(view.count),
      () => view.body(past),
    );
  const selected = view.select(inputs);
  return publicAnswer(
    etag,
    ifNoneMatch,
    context,
    () => maxAge(selected.length),
    () => view.pick(selected, past),
  );
}

/**
 * A day without a view: an empty day of a metro that exists, or no such metro, where that is known for sure
 * (docs/rules.md#unknown-metro, #absence).
 */
function answerAbsentDay(
  { metro, day }: Inputs<'getDay'>,
  [, metroView, dayComplete, metroComplete]: Keys,
  views: Views,
  ifNoneMatch: string | undefined,
  context: PublicReadContext,
): Answer {
  if (!views(metroView!)?.value) {
    need(views, metroComplete!);
    return notFound(noSuchMetroBody);
  }
  need(views, dayComplete!);
  const body = Buffer.from(`{"metro":"${metro}","day":"${day}","nights":[]}`);
  return publicAnswer(
    '"empty"',
    ifNoneMatch,
    context,
    () => context.cacheSeconds,
    () => body,
  );
}

/** getRide (docs/rules.md#paths). */
export function answerRide(
  _inputs: Inputs<'getRide'>,
  [ride, complete]: Keys,
  views: Views,
  ifNoneMatch: string | undefined,
  context: PublicReadContext,
): Answer {
  const entry = views(ride!);
  if (!entry?.value) {
    need(views, complete!);
    return notFound(noSuchRideBody);
  }
  const view = entry.as((value) => new RideView(value));
  const now = context.calendarNowMs();
  const past = view.pastCount(context.localDays.dayAt(view.zone, now));
  const maxAge = (): number =>
    context.localDays.secondsUntil(view.zone, now, context.cacheSeconds, (today) => view.pastCount(today) !== past);
  return publicAnswer(`"${view.digest}-${past}"`, ifNoneMatch, context, maxAge, () => view.body(past));
}

function need(views: Views, complete: string): void {
  if (!views(complete)?.value) throw new UnavailableError('the store is not known to be complete here');
}

// docs/rules.md#etag, #cache-control
function publicAnswer(
  etag: string,
  ifNoneMatch: string | undefined,
  { cacheSeconds }: PublicReadContext,
  maxAge: () => number,
  body: () => Buffer,
): Answer {
  const headers: Record<string, string> = {
    ...corsHeaders,
    ETag: etag,
    'Cache-Control': cacheSeconds > 0 ? `private, max-age=${maxAge()}` : 'private, no-cache',
    Vary: vary,
  };
  if (matchesEtag(ifNoneMatch, etag)) return { status: 304, headers, body: null };
  headers['Content-Type'] = 'application/json';
  return { status: 200, headers, body: body() };
}

function notFound(body: Buffer): Answer {
  return {
    status: 404,
    headers: { ...corsHeaders, 'Content-Type': errorContentType, 'Cache-Control': 'no-store' },
    body,
  };
}
