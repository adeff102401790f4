import { compareText } from '../../schemas/views/text.ts';
import { decodeView, goingBits, type RiderCard } from '../../schemas/views/view-values.ts';
import { type ByteText, bytesOf, byteText, byteTextOf } from './byte-text.ts';

const bitsMax = 8;

/** The end of a friend's JSON, by the reader's bits. */
const friendEnds: readonly ByteText[] = Array.from({ length: bitsMax }, (_, bits) => {
  const is = (bit: number) => (bits & bit) > 0;
  return `,"close":${is(goingBits.close)},"following":${is(goingBits.follows)},"flagged":${is(goingBits.flagged)}}`;
});

/** A stored rider card, with its JSON as riders' answers show it. The JSON is made once, while the card is cached. */
export class RiderView {
  readonly #sort: string;
  readonly #handle: string;
  /** `{"handle":…,"name":…`, which is left open. */
  readonly #open: ByteText;
  readonly #friends: (ByteText | undefined)[] = new Array(2 * bitsMax);

  constructor(value: Buffer) {
    const { handle, name, sort } = decodeView<RiderCard>(value).header;
    this.#sort = sort;
    this.#handle = handle;
    this.#open = byteTextOf(JSON.stringify({ handle, name }).slice(0, -1));
  }

  /** A Friend, by `goingBits`. With a comma before it, unless it is the first of a list. */
  friend(bits: number, isFirst: boolean): ByteText {
    const at = isFirst ? bits : bits + bitsMax;
    // Through bytes: V8 would keep a concatenation as two parts, and walk them for every answer.
    this.#friends[at] ??= byteText(bytesOf(`${isFirst ? '' : ','}${this.#open}${friendEnds[bits]}`));
    return this.#friends[at];
  }

  /** A KnownName, by `goingBits`. */
  known(bits: number): ByteText {
    return `${this.#open},"flagged":${(bits & goingBits.flagged) > 0}}`;
  }

  /** A FlaggedRider. */
  flagged(): ByteText {
    return `${this.#open}}`;
  }

  /** Order of riders without the id (docs/rules.md#order-of-riders): folded name, or handle if there is none; handle. */
  static compare(a: RiderView, b: RiderView): number {
    return compareText(a.#sort, b.#sort) || compareText(a.#handle, b.#handle);
  }
}
