import type { NightOrder } from './order-of-nights.ts';
import { viewKey } from './view-keys.ts';
import { decodeView, encodeView, type StoredParts } from './view-values.ts';

/**
 * Every kind of view, with its key and its bytes. The projector encodes, the API decodes. projector/views/value-views.ts
 * says which facts a view shows. stored-views.md has the same as a table.
 */

/** Kinds of views that show facts. API processes cache them and hear of every change. */
export const factKinds = ['day', 'ride', 'night', 'metro', 'key', 'rider'] as const;
export type FactKind = (typeof factKinds)[number];
/** View kinds of the public layer: views of facts, and whether a tag is complete. */
export const publicKinds = [...factKinds, 'complete'] as const;
/** The kind of the riders' own layer, which is never cached: a hash per rider, with a view in each field (reader-fields.ts). */
export type RiderKind = 'reader';
/** Kinds of views that are one key's value. */
export type ValueKind = (typeof publicKinds)[number];
export type ViewKind = ValueKind | RiderKind;

/** The parts of a key, e.g. of `62|metro:portland`. */
export function parseKey(key: string): { tag: number; kind: ViewKind; id: string } {
  const bar = key.indexOf('|');
  const colon = key.indexOf(':', bar);
  return { tag: Number(key.slice(0, bar)), kind: key.slice(bar + 1, colon) as ViewKind, id: key.slice(colon + 1) };
}

// The bodies of days, rides and nights are final JSON in which `past` is false, and their headers say where each `false`
// begins. So the API can write `true` there after local midnight, without an event and without parsing. A header's fields
// are encoded in the order that is written here: it is part of the stored bytes.

/** A day that has nights. */
export const dayKey = (metro: string, day: string): string => viewKey('day', dayId(metro, day));
export const dayId = (metro: string, day: string): string => `${metro}/${day}`;

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

export const encodeDay = ({ zone, day, nights }: DayHeader, facetsJson: readonly string[], body: Buffer): Buffer =>
  encodeView({ zone, day, nights }, body, `[${facetsJson.join()}]`);

export const decodeDay = (value: Buffer): StoredParts<DayHeader, Facets> => decodeView(value);

export const rideKey = (ride: string): string => viewKey('ride', ride);

/** Nights are in the order of their days, so past ones come first. */
export interface RideHeader {
  zone: string;
  /** Day of each night, ascending. */
  days: number[];
  /** Byte offset in the body of each night's `false`. */
  past: number[];
}

export const encodeRide = ({ zone, days, past }: RideHeader, body: Buffer): Buffer =>
  encodeView({ zone, days, past }, body);

export const decodeRide = (value: Buffer): StoredParts<RideHeader> => decodeView(value);

/** A published night, for joining into riders' answers. */
export const nightKey = (ride: string, day: string): string => viewKey('night', `${ride}/${day}`);

export interface NightHeader extends NightOrder {
  metro: string;
  zone: string;
  /** Byte offset of `false` in the body. */
  past: number;
}

export const encodeNight = ({ metro, zone, day, past, sort }: NightHeader, body: Buffer): Buffer =>
  encodeView({ metro, zone, day, past, sort }, body);

export const decodeNight = (value: Buffer): StoredParts<NightHeader> => decodeView(value);

/** The card of a rider. It exists while the rider does. */
export const riderKey = (rider: string): string => viewKey('rider', rider);

export interface RiderCard {
  handle: string;
  name: string | null;
  /** Folded name, or folded handle if there is no name. */
  sort: string;
}

export const encodeCard = ({ handle, name, sort }: RiderCard): Buffer => encodeView({ handle, name, sort });

export const decodeCard = (value: Buffer): StoredParts<RiderCard> => decodeView(value);

/** A metro that exists. Nothing reads its zone: only whether it is there. */
export const metroKey = (metro: string): string => viewKey('metro', metro);

export const encodeMetro = (zone: string): Buffer => encodeView({ zone });

/** A developer key that is live, which is all that is read of it. `hashHex`: SHA-256 of its text, 64 lower-case hex digits. */
export const developerKeyKey = (hashHex: string): string => viewKey('key', hashHex);

export const encodeDeveloperKey = (): Buffer => encodeView({});
