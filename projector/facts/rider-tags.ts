import type { Interner } from './interner.ts';

const unknown = 0xff;

/** The tags of riders by number, each computed once: a fan-out reads those of all watchers many times. */
export class RiderTags {
  readonly #ids: Interner;
  #tags = new Uint8Array(0);

  constructor(ids: Interner) {
    this.#ids = ids;
  }

  of(rider: number): number {
    if (rider >= this.#tags.length) this.#grow();
    const known = this.#tags[rider]!;
    if (known !== unknown) return known;
    const tag = this.#ids.tag(rider);
    this.#tags[rider] = tag;
    return tag;
  }

  #grow(): void {
    const tags = new Uint8Array(Math.ceil(this.#ids.size * 1.25)).fill(unknown);
    tags.set(this.#tags);
    this.#tags = tags;
  }
}
