import { ByteMap } from '../../schemas/views/byte-map.ts';
import { compareNights } from '../../schemas/views/order-of-nights.ts';
import { decodeGoing } from '../../schemas/views/reader-fields.ts';
import { compareText } from '../../schemas/views/text.ts';
import type { NamedNight, NamedRider, NamedViews, NightView, RiderView } from './views/named-views.ts';

/** A field of a reader's hash. */
export interface ReaderField {
  /** The day that it shows, or the Monday of the week. */
  first: number;
  value: Buffer;
}

/** A night, and the riders who go to it with the reader's bits, in the order of riders. */
export interface Gathered {
  readonly night: NightView;
  readonly cards: RiderView[];
  readonly bits: number[];
}

/** A night that a field names. `gathered` is null if it is not in the answer. */
interface Going {
  readonly night: NamedNight;
  gathered: Gathered | null;
}

/** A rider, and the nights they go to, each with the reader's bits. */
interface Goer {
  readonly id: string;
  /** Null if all of their nights are left out. */
  rider: NamedRider | null;
  readonly nights: Going[];
  readonly bits: number[];
}

/** Which riders go to which nights, as fields of a reader name them: friends going, or flagged riders going. */
export class Goings {
  readonly #nights: Going[] = [];
  readonly #goers: readonly Goer[];

  /** `nightOf`: the night of a ride's text in a field that begins on a day. Undefined: the night is left out. */
  constructor(
    fields: readonly ReaderField[],
    views: NamedViews,
    nightOf: (text: string, first: number) => NamedNight | undefined,
  ) {
    const goers = new ByteMap<Goer>((id) => ({ id, rider: null, nights: [], bits: [] }));
    for (const { first, value } of fields) {
      let going: Going | null = null;
      decodeGoing(
        value,
        goers,
        (text) => {
          const night = nightOf(text, first);
          going = night ? { night, gathered: null } : null;
          if (going) this.#nights.push(going);
          return going !== null;
        },
        (goer, bits) => {
          if (!going) return;
          goer.rider ??= views.rider(goer.id);
          goer.nights.push(going);
          goer.bits.push(bits);
        },
      );
    }
    this.#goers = goers.values;
  }

  /**
   * The nights that pass, in the order of nights. A night without riders is left out, and so is every night and rider that
   * no longer exists.
   *
   * Riders are sorted once, then each is added to their nights. Sorting each night's riders would compare the same two
   * riders again and again.
   */
  gather(passes: (night: NightView) => boolean): Gathered[] {
    for (const going of this.#nights) {
      const night = going.night.view;
      going.gathered = night && passes(night) ? { night, cards: [], bits: [] } : null;
    }
    for (const { card, goer } of this.#inOrderOfRiders()) {
      for (let i = 0; i < goer.nights.length; i++) {
        const gathered = goer.nights[i]!.gathered;
        if (gathered === null) continue;
        gathered.cards.push(card);
        gathered.bits.push(goer.bits[i]!);
      }
    }
    return this.#nights
      .map(({ gathered }) => gathered)
      .filter((each): each is Gathered => each !== null && each.cards.length > 0)
      .sort((a, b) => compareNights(a.night, b.night));
  }

  #inOrderOfRiders(): Carded[] {
    const cards: Carded[] = [];
    for (const goer of this.#goers) {
      const card = goer.rider?.card;
      if (card) cards.push({ card, goer });
    }
    return cards.sort(compareRiders);
  }
}

interface Carded {
  card: RiderView;
  goer: Goer;
}

/** Order of riders (docs/rules.md#order-of-riders): folded name, or folded handle if there is none; handle; id. */
const compareRiders = (a: Carded, b: Carded): number =>
  compareText(a.card.sort, b.card.sort) ||
  compareText(a.card.handle, b.card.handle) ||
  compareText(a.goer.id, b.goer.id);
