import { compareText } from '../../schemas/views/text.ts';
import { goingBits, readGoing } from '../../schemas/views/view-values.ts';
import type { ByteText } from './byte-text.ts';
import type { NamedNight, NamedRider, NamedViews } from './named-views.ts';
import { NightView } from './night-view.ts';
import { RiderView } from './rider-view.ts';

/** A day's field of a reader's hash. */
export interface DayField {
  day: number;
  value: Buffer;
}

/** A night, and the JSON of riders who go to it: close friends and others, each in the order of riders. */
export interface Gathering {
  night: NightView;
  close: ByteText[];
  others: ByteText[];
}

/** A night as fields name it, and who goes to it. */
interface Going {
  readonly night: NamedNight;
  gathering: Gathering | null;
}

/** A rider, and the nights they go to, each with the reader's bits. */
interface Goer {
  readonly rider: NamedRider;
  readonly nights: Going[];
  readonly bits: number[];
}

/** Which riders go to which nights, as fields of a reader name them: friends going, or flagged riders going. */
export class Goings {
  readonly #nights: Going[] = [];
  readonly #goers = new Map<string, Goer>();

  /** Names the nights and riders of these fields. With `onlyNamed`, only those of nights that are named already. */
  constructor(fields: readonly DayField[], views: NamedViews, { onlyNamed = false } = {}) {
    for (const { day, value } of fields) {
      const named = views.nightsOf(day);
      let going: Going | null = null;
      readGoing(
        value,
        (ride) => {
          const night = onlyNamed ? named.get(ride) : views.night(ride, day);
          going = night ? { night, gathering: null } : null;
          if (going) this.#nights.push(going);
        },
        (rider, bits) => {
          if (!going) return;
          const goer = this.#goer(rider, views);
          goer.nights.push(going);
          goer.bits.push(bits);
        },
      );
    }
  }

  #goer(id: string, views: NamedViews): Goer {
    let goer = this.#goers.get(id);
    if (!goer) {
      goer = { rider: views.rider(id), nights: [], bits: [] };
      this.#goers.set(id, goer);
    }
    return goer;
  }

  /**
   * The nights that pass, in the order of nights, with the JSON of their riders. A rider whose JSON is null is left out,
   * and so are nights without riders, and nights and riders that no longer exist. Without `closeFirst`, all riders are
   * among the others.
   *
   * Riders are sorted once, and then dealt out to their nights. Sorting them night by night would compare the same
   * riders again and again.
   */
  gather(
    passes: (night: NightView) => boolean,
    json: (card: RiderView, bits: number) => ByteText | null,
    { closeFirst = true } = {},
  ): Gathering[] {
    const first = closeFirst ? goingBits.close : 0;
    for (const going of this.#nights) {
      const night = going.night.view;
      going.gathering = night && passes(night) ? { night, close: [], others: [] } : null;
    }
    for (const { card, goer } of this.#inOrderOfRiders()) {
      for (let i = 0; i < goer.nights.length; i++) {
        const gathering = goer.nights[i]!.gathering;
        if (!gathering) continue;
        const bits = goer.bits[i]!;
        const text = json(card, bits);
        if (text !== null) (bits & first ? gathering.close : gathering.others).push(text);
      }
    }
    return this.#nights
      .map(({ gathering }) => gathering)
      .filter((each): each is Gathering => each !== null && each.close.length + each.others.length > 0)
      .sort((a, b) => NightView.compare(a.night, b.night));
  }

  /** docs/rules.md#order-of-riders */
  #inOrderOfRiders(): { card: RiderView; goer: Goer }[] {
    const cards: { card: RiderView; goer: Goer }[] = [];
    for (const goer of this.#goers.values()) {
      const { card } = goer.rider;
      if (card) cards.push({ card, goer });
    }
    return cards.sort((a, b) => RiderView.compare(a.card, b.card) || compareText(a.goer.rider.id, b.goer.rider.id));
  }
}
