import { dayText, dayTextLength } from '../../../schemas/views/days.ts';
import type { NightOrder } from '../../../schemas/views/order-of-nights.ts';
import { goingBits } from '../../../schemas/views/reader-fields.ts';
import { decodeCard, decodeNight, type NightHeader, nightKey, riderKey } from '../../../schemas/views/view-kinds.ts';
import { memoize } from '../../messages/memoize.ts';
import { withPast } from './past-bytes.ts';
import type { ViewCache } from './view-cache.ts';

/**
 * JSON as bytes in a string: each character is one byte of its UTF-8. Riders' answers are joined from such texts, because
 * joining strings copies nothing. The bytes are copied once, when the whole answer is written.
 */
export type ByteText = string;

const byteText = (bytes: Buffer): ByteText => bytes.toString('latin1');

export const bytesOf = (text: ByteText): Buffer => Buffer.from(text, 'latin1');

/** A stored night, ready to be joined into a rider's answer. */
export class NightView implements NightOrder {
  readonly ride: string;
  readonly metro: string;
  readonly zone: string;
  readonly day: number;
  readonly sort: NightHeader['sort'];
  readonly #pastAt: number;
  readonly #body: Buffer;
  #coming: ByteText | null = null;
  #past: ByteText | null = null;

  constructor(value: Buffer) {
    const { header, body } = decodeNight(value);
    this.metro = header.metro;
    this.zone = header.zone;
    this.day = header.day;
    this.ride = header.sort[2];
    this.sort = header.sort;
    this.#pastAt = header.past;
    this.#body = body;
  }

  /** The night's JSON. It is made once, while the night is cached. */
  json(past: boolean): ByteText {
    if (past) {
      this.#past ??= byteText(withPast(this.#body, [this.#pastAt]));
      return this.#past;
    }
    this.#coming ??= byteText(this.#body);
    return this.#coming;
  }
}

const bitsMax = 8;

/** The end of a friend's JSON, by the reader's bits. */
const friendEnds: readonly ByteText[] = Array.from({ length: bitsMax }, (_, bits) => {
  const is = (bit: number) => (bits & bit) > 0;
  return `,"close":${is(goingBits.close)},"following":${is(goingBits.follows)},"flagged":${is(goingBits.flagged)}}`;
});

/** A stored rider card, with its JSON as riders' answers show it. The JSON is made once, while the card is cached. */
export class RiderView {
  readonly sort: string;
  readonly handle: string;
  /** `{"handle":…,"name":…`, which is left open. */
  readonly #open: ByteText;
  readonly #friends: (ByteText | undefined)[] = [];

  constructor(value: Buffer) {
    const { handle, name, sort } = decodeCard(value);
    this.sort = sort;
    this.handle = handle;
    this.#open = byteText(Buffer.from(JSON.stringify({ handle, name }).slice(0, -1)));
  }

  /** A Friend, by `goingBits`. With a comma before it, unless it is the first of a list. */
  friend(bits: number, isFirst: boolean): ByteText {
    const at = isFirst ? bits : bits + bitsMax;
    // Copied through bytes: V8 keeps a concatenation as two parts, and would walk them for every answer.
    this.#friends[at] ??= byteText(bytesOf(`${isFirst ? '' : ','}${this.#open}${friendEnds[bits]}`));
    return this.#friends[at];
  }

  /** A KnownName, by `goingBits`. */
  known(bits: number): ByteText {
    return `${this.#open},"flagged":${(bits & goingBits.flagged) > 0}}`;
  }

  flagged(): ByteText {
    return `${this.#open}}`;
  }
}

/** A night that a reader's fields name. Its view is null until it is read, and if the night no longer exists. */
export interface NamedNight {
  readonly key: string;
  view: NightView | null;
}

/** A rider whom a reader's fields name. The card is null until it is read, and if the rider no longer exists. */
export interface NamedRider {
  readonly key: string;
  card: RiderView | null;
}

// A key holds a hash of its id, and looking it up in a Map takes another hash. For a view that is cached, the two cost more
// than everything else together. So keys are kept: about 15 MB at most.
const keysMax = 50_000;
const keyOfRider = memoize(riderKey, keysMax);
const keyOfNight = memoize((id) => nightKey(id.slice(0, -dayTextLength - 1), id.slice(-dayTextLength)), keysMax);

/** The nights and riders that a reader's fields name: first their keys, then their views. */
export class NamedViews {
  readonly #nights = new Map<number, Map<string, NamedNight>>();
  readonly #riders = new Map<string, NamedRider>();

  namedNight(ride: string, day: number): NamedNight | undefined {
    return this.#nights.get(day)?.get(ride);
  }

  night(ride: string, day: number): NamedNight {
    let ofDay = this.#nights.get(day);
    if (!ofDay) {
      ofDay = new Map();
      this.#nights.set(day, ofDay);
    }
    let night = ofDay.get(ride);
    if (!night) {
      night = { key: keyOfNight(`${ride}/${dayText(day)}`), view: null };
      ofDay.set(ride, night);
    }
    return night;
  }

  rider(id: string): NamedRider {
    let rider = this.#riders.get(id);
    if (!rider) {
      rider = { key: keyOfRider(id), card: null };
      this.#riders.set(id, rider);
    }
    return rider;
  }

  /** Reads all named views that are not cached, in one round trip. Throws StoreAwayError. */
  async load(cache: ViewCache): Promise<void> {
    const riders = [...this.#riders.values()];
    const nights = [...this.#nights.values()].flatMap((ofDay) => [...ofDay.values()]);
    const entries = await cache.load([...riders.map(({ key }) => key), ...nights.map(({ key }) => key)]);
    riders.forEach((rider, i) => {
      rider.card = entries[i]!.as(riderView);
    });
    nights.forEach((night, i) => {
      night.view = entries[riders.length + i]!.as(nightView);
    });
  }
}

const riderView = (value: Buffer): RiderView => new RiderView(value);
const nightView = (value: Buffer): NightView => new NightView(value);
