import { decodeGoing, type ReaderField } from '../../schemas/views/reader-fields.ts';
import {
  byNight,
  type Name,
  type NamedViews,
  type NightView,
  nightNames,
  type RiderView,
  riderNames,
} from './views/named-views.ts';

/** Which riders go to which nights, as fields of a reader name them: friends going, or flagged riders going. */
export class Goings {
  readonly #views: NamedViews;
  /** The nights' places. */
  readonly #nights: number[] = [];
  /** By a rider's place: of each night that they go to the index above times 8, and the reader's bits. */
  readonly #ofRider: number[][] = [];

  /** `takes`: whether a night of a day is in the answer. */
  constructor(fields: readonly ReaderField[], views: NamedViews, takes: (night: Name, day: number) => boolean) {
    this.#views = views;
    let night = 0;
    const onNight = (name: Name, day: number): boolean => {
      if (!takes(name, day)) return false;
      const place = views.nights.placeOf(name);
      views.said.push(~place);
      night = (this.#nights.push(place) - 1) * 8;
      return true;
    };
    const onRider = (name: Name, bits: number): void => {
      const place = views.riders.placeOf(name);
      views.said.push(place * 8 + bits);
      const goings = this.#ofRider[place];
      if (goings) goings.push(night + bits);
      else this.#ofRider[place] = [night + bits];
    };
    for (const field of fields) decodeGoing(field, nightNames, riderNames, onNight, onRider);
  }

  /**
   * What `make` makes of each night, in the order of nights, once `add` has added each rider who goes to it, in the order of
   * riders. Nights and riders that no longer exist are left out, and so is a night of which `make` makes nothing.
   */
  gather<Item extends { readonly night: NightView }>(
    make: (night: NightView) => Item | null,
    add: (item: Item, rider: RiderView, bits: number) => void,
  ): Item[] {
    const { nights, riders } = this.#views;
    const items = this.#nights.map((place) => {
      const night = nights.views[place];
      return night ? make(night) : null;
    });
    // Riders are sorted once for all nights, not within each.
    for (const place of this.#views.ridersInOrder()) {
      const goings = this.#ofRider[place];
      if (!goings) continue;
      const rider = riders.views[place]!;
      for (const going of goings) {
        const item = items[going >> 3];
        if (item) add(item, rider, going & 7);
      }
    }
    return items.filter((item) => item !== null).sort(byNight);
  }
}
