import type { ByteMap } from './byte-map.ts';
import { dayText, parseDay, weekOf } from './days.ts';
import { viewKey } from './view-keys.ts';

/**
 * The reader's own layer: a hash with many small fields, so they are terse text. Ids contain no `:`, `,` or `=`. Own nights
 * and flagged riders are kept by week: /me/nights reads 123 days of both, and most of these have neither.
 */

/** The hash of a reader, the rider whose own layer it is. */
export const readerKey = (rider: string): string => viewKey('reader', rider);

/** What a field shows: own nights (`o`), friends going (`f`), flagged riders going (`x`). Its name begins with this. */
export type FieldKind = 'o' | 'f' | 'x';

/** How many days a field of this kind shows. Seven are a week from its Monday on. */
export const fieldDays: Record<FieldKind, 1 | 7> = { o: 7, f: 1, x: 7 };

export const fieldFirstDay = (kind: FieldKind, day: number): number => (fieldDays[kind] === 1 ? day : weekOf(day));

/** A field's name, e.g. `f2015-06-13` for `f` and 16,599. */
export const fieldName = (kind: FieldKind, first: number): string => `${kind}${dayText(first)}`;

/** The reverse. Null for a name that no field of ours has, e.g. `o2015-06-13`: a Saturday. */
export function parseFieldName(name: string): { kind: FieldKind; first: number } | null {
  const kind = name[0] as FieldKind;
  const first = parseDay(name.slice(1));
  return fieldDays[kind] === undefined || first === null || fieldFirstDay(kind, first) !== first
    ? null
    : { kind, first };
}

/** A field of a reader's hash. */
export interface ReaderField {
  kind: FieldKind;
  /** The day that it shows, or the Monday of the week. */
  first: number;
  value: Buffer;
}

/** One of a rider's own nights of a week. */
export interface OwnNight {
  day: number;
  ride: string;
  bits: number;
}
export const ownBits = { going: 1, confirmed: 2, saved: 4, led: 8 } as const;

/** A friend or flagged rider who goes to a night. */
export interface GoingRider {
  /** The ride; in a week's field with its day before it (`rideOfWeek`). */
  ride: string;
  rider: string;
  bits: number;
}
export const goingBits = { follows: 1, close: 2, flagged: 4 } as const;

/** A ride in a week's field, e.g. `5taco` for a Saturday. Monday is 0. Such texts sort by day, then by ride. */
export const rideOfWeek = (day: number, ride: string): string => `${day - weekOf(day)}${ride}`;

/** `<day>ride=bits,…`, e.g. `5taco=9`, with one hex digit of `ownBits`. By day, then by ride. */
export const encodeOwn = (nights: readonly OwnNight[]): string =>
  nights.map(({ day, ride, bits }) => `${rideOfWeek(day, ride)}=${digits[bits]}`).join(',');

const digits = '0123456789abcdef';

/** The reverse. Calls `onNight` for each night, with its bits. */
export function decodeOwn<Night>(
  { first, value }: Omit<ReaderField, 'kind'>,
  nights: ByteMap<Night>,
  onNight: (night: Night, bits: number) => void,
): void {
  const bytes = viewOf(value);
  for (let at = 0; at < value.length; at = nights.end + 3) {
    const night = nights.valueAt(bytes, at + 1, equals, first + value[at]! - digit0);
    onNight(night, digits.indexOf(String.fromCharCode(value[nights.end + 1]!)));
  }
}

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length);

/** `ride:rider=bits,rider=bits;ride:…`, e.g. `taco:r1=1`, with one digit of `goingBits`. By ride, then by rider. */
export function encodeGoing(riders: readonly GoingRider[]): string {
  let text = '';
  let last = '';
  for (const { ride, rider, bits } of riders) {
    if (ride === last) text += ',';
    else text += text === '' ? `${ride}:` : `;${ride}:`;
    last = ride;
    text += `${rider}=${bits}`;
  }
  return text;
}

/**
 * The reverse. Calls `onNight` for each night, and then `onRider` for each rider who goes to it; not if `onNight` returned
 * false. Thousands of these texts are decoded per second, so a night or rider who comes again costs no object and no text.
 */
export function decodeGoing<Night, Rider>(
  { kind, first, value }: ReaderField,
  nights: ByteMap<Night>,
  riders: ByteMap<Rider>,
  onNight: (night: Night, day: number) => boolean,
  onRider: (rider: Rider, bits: number) => void,
): void {
  const bytes = viewOf(value);
  const ofWeek = fieldDays[kind] === 7;
  for (let at = 0; at < value.length; at++) {
    const day = ofWeek ? first + value[at++]! - digit0 : first;
    const night = nights.valueAt(bytes, at, colon, day);
    at = nights.end;
    if (at === value.length) throw new Error('Cannot read who goes to a night: its field has a ride without a colon');
    if (!onNight(night, day)) {
      const next = value.indexOf(semicolon, at);
      at = next < 0 ? value.length : next;
      continue;
    }
    // A digit follows each `=`, then a comma, a semicolon or the end.
    do {
      const rider = riders.valueAt(bytes, at + 1, equals);
      at = riders.end + 2;
      onRider(rider, value[at - 1]! - digit0);
    } while (value[at] === comma);
  }
}

const digit0 = 48;
const colon = 58;
const equals = 61;
const comma = 44;
const semicolon = 59;
