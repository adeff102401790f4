import type { Inputs } from '../../schemas/interface/inputs.ts';
import { parseDay } from '../../schemas/views/days.ts';
import { type FieldKind, fieldDays, fieldFirstDay, fieldName, readerKey } from '../../schemas/views/reader-fields.ts';
import { completeKeyOf } from '../../schemas/views/view-keys.ts';
import { metroKey, riderKey } from '../../schemas/views/view-kinds.ts';
import { success } from '../messages/answer.ts';
import { memoize } from '../messages/memoize.ts';
import { noSuchMetroBody, refuse, type Unauthorized } from '../messages/refusals.ts';
import { bearerToken, isLive } from './credentials.ts';
import {
  daysAhead,
  daysBack,
  flaggedNights,
  friendNights,
  knownNights,
  myNights,
  type Naming,
  type ReaderFields,
} from './me-answers.ts';
import type { ReadDeps, Reading } from './public-reads.ts';
import type { InputsResult } from './read-inputs.ts';
import { NamedViews } from './views/named-views.ts';

export type RiderOperation = 'getMyNights' | 'getKnown' | 'getFriends' | 'getFlagged';

/** What an operation needs: the kinds and days of the reader's fields. */
interface Wanted {
  kinds: string;
  from: number;
  to: number;
  metro: string | null;
  naming: Naming;
}

/**
 * The riders' own operations (docs/rules.md#me, #401-on-me, #order-of-checks), in two round trips. The first reads the
 * reader's fields and what the checks need, the second the nights and cards that the fields name. One where a view is
 * missing takes a third.
 */
export const meReads =
  ({ cache, checker, calendarNowMs, riderGone }: ReadDeps, { noLiveToken }: Unauthorized) =>
  (operation: RiderOperation, inputs: InputsResult<RiderOperation>): Reading =>
  async (headers) => {
    // A developer key never opens these (docs/rules.md#me).
    const token = bearerToken(headers);
    const rider = token && (await checker.check(token));
    if (rider === null) return noLiveToken(token !== null);
    const nowMs = calendarNowMs();
    const { kinds, from, to, metro, naming } = inputs.ok ? wantedFor(operation, inputs.inputs, nowMs) : nothing;
    const asked = askedFields(`${kinds} ${from} ${to}`);
    const cardKey = riderKey(rider);
    const keys = [cardKey, completeKeyOf(cardKey)];
    if (metro !== null) keys.push(metroKey(metro));
    // The fields are asked for first. If `complete` came first and the store were emptied then, all fields would be missing.
    const [values, [card, complete, ofMetro]] = await Promise.all([
      inputs.ok ? cache.fields(readerKey(rider), asked.names) : [],
      cache.load(keys),
    ]);
    if (!isLive([card!])) {
      riderGone?.(rider);
      return noLiveToken(true);
    }
    if (!inputs.ok) return refuse.invalid(inputs.input, inputs.detail);
    if (ofMetro?.value === null) return refuse.notFound(noSuchMetroBody);
    // Else a field that is missing would say that there is nothing.
    complete!.assertKnown();
    const views = new NamedViews();
    const body = naming({ fields: readerFields(asked.fields, values), views, nowMs });
    await views.load(cache);
    // Of what the body is made from: a fraction of its bytes.
    return success(views.digest(nowMs), headers, { 'Cache-Control': 'private, no-store' }, body);
  };

const nothing: Wanted = { kinds: '', from: 0, to: -1, metro: null, naming: () => () => '' };

const ranged = {
  getKnown: { kinds: 'f', namingOf: knownNights },
  getFriends: { kinds: 'fx', namingOf: friendNights },
  getFlagged: { kinds: 'x', namingOf: flaggedNights },
};

function wantedFor(operation: RiderOperation, inputs: Inputs<RiderOperation>, nowMs: number): Wanted {
  if (operation === 'getMyNights') {
    // Today's date differs by zone. One more day on each side covers every zone.
    const today = Math.floor(nowMs / 86_400_000);
    return { kinds: 'ox', from: today - daysBack - 1, to: today + daysAhead + 1, metro: null, naming: myNights };
  }
  const { kinds, namingOf } = ranged[operation];
  const given = inputs as Inputs<'getFriends'>;
  const { metro } = given;
  const [from, to] = [parseDay(given.from)!, parseDay(given.to)!];
  return { kinds, from, to, metro, naming: namingOf(given) };
}

/** A field to read: its kind, and the first day that it shows. */
interface AskedField {
  kind: FieldKind;
  first: number;
}

/** The fields to read for some days, with their names. */
interface AskedFields {
  fields: readonly AskedField[];
  names: readonly string[];
}

/**
 * The fields of some kinds that show some days, both included: of `fx 20253 20283`. Clients ask for the same ranges again and
 * again, and each has dozens of names.
 */
const askedFields = memoize((range): AskedFields => {
  const [kinds, from, to] = range.split(' ') as [string, string, string];
  const fields: AskedField[] = [];
  for (const kind of kinds as Iterable<FieldKind>) {
    for (let first = fieldFirstDay(kind, Number(from)); first <= Number(to); first += fieldDays[kind])
      fields.push({ kind, first });
  }
  return { fields, names: fields.map(({ kind, first }) => fieldName(kind, first)) };
}, 256);

function readerFields(asked: readonly AskedField[], values: readonly (Buffer | null)[]): ReaderFields {
  const fields: ReaderFields = { o: [], f: [], x: [] };
  asked.forEach(({ kind, first }, i) => {
    const value = values[i];
    if (value) fields[kind].push({ kind, first, value });
  });
  return fields;
}
