import type { ByteMap } from './byte-map.ts';
import { weekOf } from './days.ts';
import { compareText } from './text.ts';
import { digestLength, digestOf } from './view-keys.ts';

/**
 * The values of views. A value is `<digest><header JSON>\n<facets JSON>\n<body>`. The digest covers everything after
 * it. Bodies have `false` for `past`, and the header has its offsets. So the API can write `true` there after local
 * midnight, without an event and without parsing.
 */

/** Header of a day view. */
export interface DayHeader {
  zone: string;
  /** Days since 1970-01-01. */
  day: number;
  /** Three byte offsets in the body per night: its start, its end, and where its `false` begins. */
  nights: number[];
}

/** What filters need to know about one night of a day. */
export interface Facets {
  /** Distance band as in the `far` filter. Null matches every band. */
  far: string | null;
  /** Audience as in the `who` filter. Null matches every audience. */
  who: string | null;
  /** District slug for the `where` filter. Null if withheld or not shown. */
  where: string | null;
  /** Folded title, and on a second line the folded published place name if there is one. */
  text: string;
}

/** Header of a ride view. Nights are in the order of their days, so past ones come first. */
export interface RideHeader {
  zone: string;
  /** Day of each night, ascending. */
  days: number[];
  /** Byte offset in the body of each night's `false`. */
  past: number[];
}

/** What the order of nights goes by. */
export interface NightOrder {
  day: number;
  /** Minutes since local midnight, or null; title; ride id. */
  sort: readonly [number | null, string, string];
}

/** Order of nights (docs/rules.md#order-of-nights): day, time (nights without a time last), title, ride id. */
export function compareNights(a: NightOrder, b: NightOrder): number {
  return (
    a.day - b.day ||
    (a.sort[0] ?? Number.MAX_SAFE_INTEGER) - (b.sort[0] ?? Number.MAX_SAFE_INTEGER) ||
    compareText(a.sort[1], b.sort[1]) ||
    compareText(a.sort[2], b.sort[2])
  );
}

/** Header of a night view. */
export interface NightHeader extends NightOrder {
  metro: string;
  zone: string;
  /** Byte offset of `false` in the body. */
  past: number;
}

/** A rider's card. */
export interface RiderCard {
  handle: string;
  name: string | null;
  /** Folded name, or folded handle if there is no name. */
  sort: string;
}

export function encodeView(header: object, facets: readonly Facets[] | null, body: Buffer): Buffer {
  const head = `${JSON.stringify(header)}\n${facets ? JSON.stringify(facets) : ''}\n`;
  const headBytes = Buffer.byteLength(head);
  const value = Buffer.allocUnsafe(digestLength + headBytes + body.length);
  value.write(head, digestLength);
  body.copy(value, digestLength + headBytes);
  value.write(digestOf(value.subarray(digestLength)), 0, 'latin1');
  return value;
}

interface StoredParts<H> {
  digest: string;
  header: H;
  /** Parsed only if a filter needs them. */
  facets(): Facets[];
  body: Buffer;
}

export function decodeView<H>(value: Buffer): StoredParts<H> {
  const headEnd = value.indexOf(10, digestLength);
  const facetsEnd = value.indexOf(10, headEnd + 1);
  return {
    digest: value.toString('latin1', 0, digestLength),
    header: JSON.parse(value.toString('utf8', digestLength, headEnd)) as H,
    facets: () => JSON.parse(value.toString('utf8', headEnd + 1, facetsEnd)) as Facets[],
    body: value.subarray(facetsEnd + 1),
  };
}

/** One of a rider's own nights of a week. */
export interface OwnNight {
  day: number;
  ride: string;
  bits: number;
}
/** Bits of an own night. */
export const ownBits = { going: 1, confirmed: 2, saved: 4, led: 8 } as const;

/** A friend or flagged rider who goes to a night. */
export interface GoingRider {
  /** The ride; in a week's field with its day before it (`rideOfWeek`). */
  ride: string;
  rider: string;
  bits: number;
}
/** What the reader marked the rider as. */
export const goingBits = { follows: 1, close: 2, flagged: 4 } as const;

// A reader's hash has many small fields, so they are terse text. Ids contain no `:`, `,` or `=`. Own nights and flagged
// riders are kept by week: /me/nights reads 123 days of both, and most of these have neither.

/** A ride in a week's field: the number of its day, 0 for Monday, then the id. Such texts sort by day, then by ride. */
export const rideOfWeek = (day: number, ride: string): string => `${day - weekOf(day)}${ride}`;

/** The ride's id and day of a text in a week's field, given the week's Monday. */
export const parseRideOfWeek = (text: string, week: number): { ride: string; day: number } => {
  return { ride: text.slice(1), day: week + text.charCodeAt(0) - digit0 };
};

/** `<day>ride=bits,…`, with one hex digit of `ownBits`. In the order of days, then of rides. */
export function ownText(nights: readonly OwnNight[]): string {
  let text = '';
  for (const { day, ride, bits } of nights) {
    text += `${text === '' ? '' : ','}${rideOfWeek(day, ride)}=${bits.toString(16)}`;
  }
  return text;
}

/** Own nights of the week that begins on a Monday. */
export function decodeOwn(value: Buffer, week: number): OwnNight[] {
  return value
    .toString('latin1')
    .split(',')
    .map((part) => ({
      ...parseRideOfWeek(part.slice(0, -2), week),
      bits: hexDigit(part.charCodeAt(part.length - 1)),
    }));
}

const hexDigit = (unit: number): number => (unit <= digit9 ? unit - digit0 : unit - letterA + 10);
const digit0 = 48;
const digit9 = 57;
const letterA = 97;

/** `ride:rider=bits,rider=bits;ride:…`, with one digit of `goingBits`. In the order of rides, then of riders. */
export function goingText(riders: readonly GoingRider[]): string {
  let text = '';
  let ride = '';
  for (const r of riders) {
    text += r.ride === ride ? ',' : `${text ? ';' : ''}${r.ride}:`;
    ride = r.ride;
    text += `${r.rider}=${r.bits}`;
  }
  return text;
}

/**
 * Reads a going text. Calls `onNight` for each ride, and unless that returns false `onRider` for each rider who goes to
 * it. Riders' answers read thousands of these a second, so a rider who comes again costs no object and no text.
 */
export function readGoing<Rider>(
  value: Buffer,
  riders: ByteMap<Rider>,
  onNight: (ride: string) => boolean,
  onRider: (rider: Rider, bits: number) => void,
): void {
  for (let at = 0; at < value.length; ) {
    const end = value.indexOf(colon, at);
    if (end < 0) throw new Error('Cannot read who goes to a night: its field has a ride without a colon');
    const ride = value.toString('latin1', at, end);
    at = end;
    if (!onNight(ride)) {
      const next = value.indexOf(semicolon, at);
      at = next < 0 ? value.length : next + 1;
      continue;
    }
    // A digit follows each `=`, then a comma, a semicolon or the end.
    do {
      const rider = riders.read(value, at + 1, equals);
      onRider(rider, value[riders.end + 1]! - digit0);
      at = riders.end + 2;
    } while (value[at] === comma);
    at += 1;
  }
}

const colon = 58;
const equals = 61;
const comma = 44;
const semicolon = 59;
