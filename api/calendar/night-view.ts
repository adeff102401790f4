import { compareText } from '../../schemas/views/text.ts';
import { decodeView, type NightHeader } from '../../schemas/views/view-values.ts';
import { type ByteText, byteText } from './byte-text.ts';
import { withPast } from './past.ts';

/** A stored night, ready to be joined into a rider's answer. */
export class NightView {
  readonly ride: string;
  readonly metro: string;
  readonly zone: string;
  readonly day: number;
  readonly #sort: NightHeader['sort'];
  readonly #pastAt: number;
  readonly #body: Buffer;
  #coming: ByteText | null = null;
  #past: ByteText | null = null;

  constructor(value: Buffer) {
    const { header, body } = decodeView<NightHeader>(value);
    this.metro = header.metro;
    this.zone = header.zone;
    this.day = header.day;
    this.ride = header.sort[2];
    this.#sort = header.sort;
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

  /** Order of nights (docs/rules.md#order-of-nights): day, time (nights without a time last), title, ride id. */
  static compare(a: NightView, b: NightView): number {
    return (
      a.day - b.day ||
      (a.#sort[0] ?? Number.MAX_SAFE_INTEGER) - (b.#sort[0] ?? Number.MAX_SAFE_INTEGER) ||
      compareText(a.#sort[1], b.#sort[1]) ||
      compareText(a.#sort[2], b.#sort[2])
    );
  }
}
