import type { Inputs } from '../../schemas/interface/inputs.ts';
import { parseDay } from '../../schemas/views/days.ts';
import { completeKeyOf, digestOf, metroKey, readerKey, riderKey } from '../../schemas/views/view-keys.ts';
import { success, UnavailableError } from '../http/answer.ts';
import { noSuchMetroBody } from '../http/errors.ts';
import { refuse, type Unauthorized } from '../http/refusals.ts';
import type { ViewReader } from '../ports/view-reader.ts';
import type { TokenChecker } from '../tokens/access-token.ts';
import { tokenHolder } from './credentials.ts';
import type { InputsResult } from './inputs.ts';
import type { LocalDays } from './local-days.ts';
import {
  daysAhead,
  daysBack,
  flaggedNights,
  friendNights,
  knownNights,
  type MeSource,
  myNights,
} from './me-answers.ts';
import { memoize } from './memoize.ts';
import type { Reading } from './public-reads.ts';
import { FieldNames, type ReaderFieldKind, readerFields } from './reader-fields.ts';
import type { ViewCache } from './view-cache.ts';

export type RiderOperation = 'getMyNights' | 'getKnown' | 'getFriends' | 'getFlagged';

export interface MeReadDeps {
  cache: ViewCache;
  reader: ViewReader;
  checker: TokenChecker;
  localDays: LocalDays;
  /** Milliseconds since the epoch. NOW sets it. */
  calendarNowMs(): number;
  /** Called when a token's rider no longer exists. */
  riderGone?(rider: string): void;
}

/** What an operation needs: the kinds and days of the reader's fields. */
interface Wanted {
  kinds: readonly ReaderFieldKind[];
  from: number;
  to: number;
  metro: string | null;
  body(source: MeSource): Promise<Buffer>;
}

/**
 * The riders' own operations, in at most two round trips: first the reader's fields and what the checks need, then the
 * nights and cards that the fields name.
 */
export function meReads(deps: MeReadDeps, { noLiveToken }: Unauthorized) {
  const { cache, reader, checker, localDays, calendarNowMs, riderGone } = deps;
  const fieldNames = new FieldNames();

  /**
   * The reader's fields, and which of some views exist. The fields are read first, so the check that their tag is
   * complete is never older than they are.
   */
  async function fieldsAnd(rider: string, { kinds, from, to }: Wanted, views: readonly string[]) {
    const asked = fieldNames.of(kinds, from, to);
    const [values, entries] = await Promise.all([
      asked.names.length > 0 ? reader.fields(keyOfFields(rider), asked.names) : [],
      cache.load(views),
    ]);
    return { fields: readerFields(asked, values), there: new Set(views.filter((_, i) => entries[i]!.value !== null)) };
  }

  return (operation: RiderOperation, inputs: InputsResult<RiderOperation>): Reading =>
    async (headers) => {
      // A developer key never opens these (docs/rules.md#me).
      const { rider, tokenSent } = await tokenHolder(headers, checker);
      if (rider === null) return noLiveToken(tokenSent);
      const nowMs = calendarNowMs();
      const wanted = inputs.ok ? whatIsWanted(operation, inputs.inputs, nowMs) : nothing;
      const card = keyOfCard(rider);
      const metro = wanted.metro === null ? null : keyOfMetro(wanted.metro);
      const named = metro === null ? [card] : [card, metro];
      const { fields, there } = await fieldsAnd(rider, wanted, [...named, ...named.map(completeKeyOf)]);
      if (!there.has(card)) {
        if (!there.has(completeKeyOf(card))) throw new UnavailableError('riders are not known to be complete');
        // The token of a rider who no longer exists is not live.
        riderGone?.(rider);
        return noLiveToken(true);
      }
      if (!inputs.ok) return refuse.invalid(inputs.input, inputs.detail);
      if (metro !== null && !there.has(metro)) {
        if (!there.has(completeKeyOf(metro))) throw new UnavailableError('metros are not known to be complete');
        return refuse.notFound(noSuchMetroBody);
      }
      if (!there.has(completeKeyOf(card))) throw new UnavailableError("the rider's views are not known to be complete");
      const body = await wanted.body({ fields, cache, localDays, nowMs });
      return success(
        `"${digestOf(body)}"`,
        headers['if-none-match'],
        { 'Cache-Control': 'private, no-store' },
        () => body,
      );
    };
}

// Keys of readers who come again: each has a hash of the id.
const keyOfCard = memoize(riderKey);
const keyOfFields = memoize(readerKey);
const keyOfMetro = memoize(metroKey);

const nothing: Wanted = { kinds: [], from: 0, to: -1, metro: null, body: async () => Buffer.alloc(0) };

function whatIsWanted(operation: RiderOperation, inputs: Inputs<RiderOperation>, nowMs: number): Wanted {
  if (operation === 'getMyNights') {
    // Today's date differs by zone. One more day on each side covers every zone.
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
      return { ...days, kinds: ['f'], body: (source) => knownNights(source, ranged) };
    case 'getFriends':
      return { ...days, kinds: ['f', 'x'], body: (source) => friendNights(source, ranged) };
    case 'getFlagged':
      return { ...days, kinds: ['x'], body: (source) => flaggedNights(source, ranged, days) };
  }
}
