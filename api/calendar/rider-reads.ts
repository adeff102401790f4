import type { IncomingHttpHeaders } from 'node:http';
import type { Inputs } from '../../schemas/interface/inputs.ts';
import { dayMax, dayMin, dayText, parseDay } from '../../schemas/views/days.ts';
import { completeKey, digestOf, metroKey, readerKey, riderKey, tagOf } from '../../schemas/views/view-keys.ts';
import { decodeGoing, decodeOwn, decodeView, type RiderCard } from '../../schemas/views/view-values.ts';
import { type Answer, corsHeaders, UnavailableError } from '../http/answer.ts';
import { noSuchMetroBody } from '../http/errors.ts';
import { matchesEtag } from '../http/etag.ts';
import { type refusals, refuse } from '../http/refusals.ts';
import type { Route } from '../http/route-table.ts';
import type { ViewReader } from '../ports/view-reader.ts';
import type { RiderOperation } from './calendar.ts';
import type { Circle } from './circle.ts';
import { readInputs } from './inputs.ts';
import type { LocalDays } from './local-days.ts';
import { NamedViews } from './named-views.ts';
import { NightView } from './night-view.ts';
import { daysAhead, daysBack, flaggedNightsOf, friendNights, knownNights, myNights } from './rider-answers.ts';
import type { ViewCache } from './view-cache.ts';

export interface RiderReadDeps {
  cache: ViewCache;
  reader: ViewReader;
  localDays: LocalDays;
  calendarNowMs(): number;
  noLiveToken: ReturnType<typeof refusals>['noLiveToken'];
  /** The rider whose token was sent is gone. */
  riderGone?(rider: string): void;
}

/** Which of the reader's fields an operation needs, `o`wn nights, `f`riends, flagged (`x`), and the days. */
interface Wanted {
  kinds: ('o' | 'f' | 'x')[];
  from: number;
  to: number;
  metro: string | null;
  body(circle: Circle): Buffer;
}

/**
 * The riders' own operations, in at most two round trips: the reader's fields and what the checks need; then the nights
 * and cards that those name.
 */
export function riderReads({ cache, reader, localDays, calendarNowMs, noLiveToken, riderGone }: RiderReadDeps) {
  return async (
    operation: RiderOperation,
    route: Route,
    query: string,
    rider: string,
    headers: IncomingHttpHeaders,
  ): Promise<Answer> => {
    const nowMs = calendarNowMs();
    const read = readInputs(operation, route.segments, query);
    const wanted = read.ok ? whatIsWanted(operation, read.inputs, nowMs) : null;
    const checks = [riderKey(rider), completeKey(tagOf(rider))];
    if (wanted?.metro) {
      checks.push(metroKey(wanted.metro));
      if (!cache.peek(metroKey(wanted.metro))) checks.push(completeKey(tagOf(wanted.metro)));
    }
    const days = wanted ? range(wanted.from, wanted.to) : [];
    const fields = wanted ? wanted.kinds.flatMap((kind) => days.map((day) => `${kind}${dayText(day)}`)) : [];

    // The fields go first: the word that their tag is complete must not be older than they are.
    const [values, checked] = await Promise.all([
      fields.length > 0 ? reader.fields(readerKey(rider), fields) : [],
      cache.load(checks),
    ]);
    const [card, complete, metro, metroComplete] = checked.map((entry) => entry.value !== null);
    if (!card) {
      if (!complete) throw new UnavailableError('riders are not known to be complete');
      // A token of a rider who no longer exists is no live token.
      riderGone?.(rider);
      return noLiveToken(true);
    }
    if (!read.ok) return refuse.invalid(read.input, read.detail);
    if (!wanted) throw new Error(`Cannot answer ${operation}: nothing is known of what it needs`);
    if (wanted.metro && !metro) {
      if (!metroComplete) throw new UnavailableError('metros are not known to be complete');
      return refuse.notFound(noSuchMetroBody);
    }
    if (!complete) throw new UnavailableError("the rider's views are not known to be complete");

    const body = wanted.body(await stitch(wanted, days, values, nowMs));
    return answer(body, headers['if-none-match']);
  };

  /** Reads the nights and cards that a reader's fields name. */
  async function stitch(wanted: Wanted, days: number[], values: (Buffer | null)[], nowMs: number): Promise<Circle> {
    const part = (kind: 'o' | 'f' | 'x') => {
      const at = wanted.kinds.indexOf(kind);
      if (at === -1) return [];
      return days.flatMap((day, i) => {
        const value = values[at * days.length + i];
        return value ? [{ day, value }] : [];
      });
    };
    const own = part('o').map(({ day, value }) => ({ day, nights: decodeOwn(value) }));
    const friends = part('f').map(({ day, value }) => ({ day, riders: decodeGoing(value) }));
    const flagged = part('x').map(({ day, value }) => ({ day, riders: decodeGoing(value) }));

    const views = new NamedViews();
    for (const { day, nights } of own) for (const { ride } of nights) views.nameNight(ride, day);
    for (const { day, riders } of [...friends, ...flagged]) {
      for (const { ride, rider } of riders) {
        views.nameNight(ride, day);
        views.nameCard(rider);
      }
    }
    await views.load(cache);
    return {
      own,
      friends,
      flagged,
      night: (ride, day) => views.night(ride, day, (value) => new NightView(value)),
      card: (rider) => views.card(rider, (value) => decodeView<RiderCard>(value).header),
      localDays,
      nowMs,
    };
  }
}

function whatIsWanted(operation: RiderOperation, inputs: Inputs<RiderOperation>, nowMs: number): Wanted {
  if (operation === 'getMyNights') {
    // Today is not the same date everywhere: a day more on either side covers every zone.
    const today = Math.floor(nowMs / 86_400_000);
    return {
      kinds: ['o', 'x'],
      from: today - daysBack - 1,
      to: today + daysAhead + 1,
      metro: null,
      body: myNights,
    };
  }
  const ranged = inputs as Inputs<'getFriends'>;
  const { metro } = ranged;
  const days = { from: parseDay(ranged.from)!, to: parseDay(ranged.to)!, metro };
  switch (operation) {
    case 'getKnown':
      return { ...days, kinds: ['f'], body: (circle) => knownNights(circle, ranged) };
    case 'getFriends':
      return { ...days, kinds: ['f', 'x'], body: (circle) => friendNights(circle, ranged) };
    case 'getFlagged':
      return { ...days, kinds: ['x'], body: (circle) => flaggedNightsOf(circle, ranged) };
  }
}

function range(from: number, to: number): number[] {
  const days: number[] = [];
  for (let day = Math.max(from, dayMin); day <= Math.min(to, dayMax); day++) days.push(day);
  return days;
}

function answer(body: Buffer, ifNoneMatch: string | undefined): Answer {
  const etag = `"${digestOf(body)}"`;
  const headers: Record<string, string> = { ...corsHeaders, ETag: etag, 'Cache-Control': 'private, no-store' };
  if (matchesEtag(ifNoneMatch, etag)) return { status: 304, headers, body: null };
  headers['Content-Type'] = 'application/json';
  return { status: 200, headers, body };
}
