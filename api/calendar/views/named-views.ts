import { ByteMap } from '../../../schemas/views/byte-map.ts';
import { dayText } from '../../../schemas/views/days.ts';
import { orderInDay } from '../../../schemas/views/order-of-nights.ts';
import { goingBits } from '../../../schemas/views/reader-fields.ts';
import { orderText } from '../../../schemas/views/text.ts';
import { decodeCard, decodeNight, nightKey, riderKey } from '../../../schemas/views/view-kinds.ts';
import { digestOf } from '../../../schemas/views/view-values.ts';
import type { ByteText } from '../../messages/encoded-body.ts';
import { dayAt } from './local-days.ts';
import { withPast } from './past-bytes.ts';
import type { ViewCache } from './view-cache.ts';

const byteText = (bytes: Buffer): ByteText => bytes.toString('latin1');

/** A stored night, ready to be joined into a rider's answer. */
export class NightView {
  readonly digest: string;
  readonly ride: string;
  readonly metro: string;
  readonly zone: string;
  readonly day: number;
  /** Among the nights of its day. */
  readonly order: string;
  readonly #pastAt: number;
  readonly #body: Buffer;
  readonly #json: (ByteText | undefined)[] = [];

  constructor(value: Buffer) {
    const { digest, header, body } = decodeNight(value);
    this.digest = digest;
    this.metro = header.metro;
    this.zone = header.zone;
    this.day = header.day;
    this.ride = header.sort[2];
    this.order = orderInDay(header.sort);
    this.#pastAt = header.past;
    this.#body = body;
  }

  /** The night's JSON. It is made once, while the night is cached. */
  json(past: boolean): ByteText {
    const at = Number(past);
    this.#json[at] ??= byteText(withPast(this.#body, past ? [this.#pastAt] : []));
    return this.#json[at];
  }
}

/** Nights as `compareNights` sorts them. */
export const byNight = ({ night: a }: { night: NightView }, { night: b }: { night: NightView }): number =>
  a.day - b.day || (a.order < b.order ? -1 : 1);

const bitsMax = 8;

/** The end of a friend's JSON, by the reader's bits. */
const friendEnds: readonly ByteText[] = Array.from({ length: bitsMax }, (_, bits) => {
  const is = (bit: number) => (bits & bit) > 0;
  return `,"close":${is(goingBits.close)},"following":${is(goingBits.follows)},"flagged":${is(goingBits.flagged)}}`;
});

/** A stored rider card, with its JSON as riders' answers show it. The JSON is made once, while the card is cached. */
export class RiderView {
  readonly digest: string;
  /** By it, and then by id, riders are sorted: folded name, or folded handle if there is none; handle (docs/rules.md#order-of-riders). */
  readonly order: string;
  /** `{"handle":…,"name":…`, which is left open. */
  readonly #open: ByteText;
  readonly #friends: (ByteText | undefined)[] = [];

  constructor(value: Buffer) {
    const { digest, header } = decodeCard(value);
    const { handle, name, sort } = header;
    this.digest = digest;
    this.order = orderText(sort, handle);
    this.#open = byteText(Buffer.from(JSON.stringify({ handle, name }).slice(0, -1)));
  }

  /** A Friend, by `goingBits`. With a comma before it, unless it is the first of a list. */
  friend(bits: number, isFirst: boolean): ByteText {
    const at = isFirst ? bits : bits + bitsMax;
    // Copied through bytes: V8 keeps a concatenation as two parts, and would walk them for every answer.
    this.#friends[at] ??= byteText(Buffer.from(`${isFirst ? '' : ','}${this.#open}${friendEnds[bits]}`, 'latin1'));
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

/**
 * What fields name a view by. A key holds a hash of its id, and looking it up in a Map takes another: for a view that is cached,
 * the two cost more than everything else together. So keys are kept, with their place in the answer that named them last.
 */
export interface Name {
  readonly id: string;
  readonly key: string;
  answer: number;
  place: number;
}

const named = (id: string, key: string): Name => ({ id, key, answer: 0, place: 0 });
export const riderNames = new ByteMap((id) => named(id, riderKey(id)));
export const nightNames = new ByteMap((ride, day) => named(ride, nightKey(ride, dayText(day))));
let answers = 0;

/** The nights or riders that a reader's fields name, each at its place. A view is null if it no longer exists. */
class Named<View> {
  readonly names: Name[] = [];
  views: readonly (View | null)[] = [];
  readonly #answer: number;

  constructor(answer: number) {
    this.#answer = answer;
  }

  has = (name: Name): boolean => name.answer === this.#answer;

  /** Names a view, if it is not yet. */
  placeOf(name: Name): number {
    if (name.answer !== this.#answer) {
      name.answer = this.#answer;
      name.place = this.names.push(name) - 1;
    }
    return name.place;
  }
}

/**
 * The nights and riders that an answer shows: first their names, then their views. All are named in one turn of the event loop,
 * since the next answer's names have other places.
 */
export class NamedViews {
  readonly nights: Named<NightView>;
  readonly riders: Named<RiderView>;
  /** What fields say of them, in their order: bits of own nights; places of nights, negated, and those of riders with bits. */
  readonly said: number[] = [];
  #inOrder: readonly number[] | null = null;

  constructor() {
    answers += 1;
    riderNames.trim();
    nightNames.trim();
    this.nights = new Named(answers);
    this.riders = new Named(answers);
  }

  /** Reads all named views that are not cached, in one round trip. Throws StoreAwayError. */
  async load(cache: ViewCache): Promise<void> {
    const riders = this.riders.names.length;
    const entries = await cache.load([...this.riders.names, ...this.nights.names].map(({ key }) => key));
    this.riders.views = entries.slice(0, riders).map((entry) => entry.as(riderView));
    this.nights.views = entries.slice(riders).map((entry) => entry.as(nightView));
  }

  /** Of all that an answer depends on: what fields say, every view, the order of riders who are called alike, local dates. */
  digest(nowMs: number): string {
    let state = '';
    this.riders.views.forEach((view, place) => {
      state += `${view?.digest ?? '-'}${this.riders.names[place]!.id} `;
    });
    for (const view of this.nights.views) state += view ? `${view.digest}${dayAt(view.zone, nowMs)} ` : '-';
    return digestOf(Buffer.concat([Buffer.from(state), Buffer.from(new Int32Array(this.said).buffer)]));
  }

  /** The places of the riders who exist, in the order of riders. */
  ridersInOrder(): readonly number[] {
    this.#inOrder ??= this.#sorted();
    return this.#inOrder;
  }

  #sorted(): number[] {
    const { names, views } = this.riders;
    const before = (a: number, b: number): boolean => {
      const [x, y] = [views[a]!.order, views[b]!.order];
      return x === y ? names[a]!.id < names[b]!.id : x < y;
    };
    return [...views.keys()].filter((place) => views[place] !== null).sort((a, b) => (before(a, b) ? -1 : 1));
  }
}

const riderView = (value: Buffer): RiderView => new RiderView(value);
const nightView = (value: Buffer): NightView => new NightView(value);
