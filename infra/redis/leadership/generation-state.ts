import { hasMoved, ledMsMax } from '../../../projector/ports/leading.ts';
import { viewFormat } from '../../../schemas/views/view-keys.ts';
import { parseFence } from '../redis-keys.ts';

/** What a tag's keys say of the view formats in the store, all read at the same moment. */
export interface FormatLook {
  /** The fence of our own format. */
  fence: string | null;
  /** The owner who has led the tag to the log's ends, written with the stamp (views/view-scripts.ts). */
  led: string | null;
  /** Other formats that have a fence. */
  others: readonly number[];
}

/**
 * Whether the views of our format may be served (docs/rules.md#ready-api): they are led, or are the only ones in the store.
 * Otherwise an old version, started again beside a newer one, would serve the day on which it ended. Once they may be
 * served, this never changes: an API process serves on while projectors come and go. No I/O.
 */
export class GenerationState {
  #current = false;
  #others: readonly number[] = [];
  #fences: readonly (string | null)[] = [];
  /** When the fence of each tag last moved. */
  readonly #movedMs = new Map<number, number>();

  get current(): boolean {
    return this.#current;
  }

  /** Why they are not served; null where no other format is in the way. */
  get reason(): string | null {
    if (this.#current || this.#others.length === 0) return null;
    const others = `format${this.#others.length > 1 ? 's' : ''} ${this.#others.join(', ')}`;
    return (
      `the store also holds views of ${others}, and no projector of format ${viewFormat} leads up to the log's end; ` +
      'start one of this version, or see "ride-calendar generations list"'
    );
  }

  look(tags: readonly FormatLook[], nowMs: number): void {
    for (const [tag, { fence }] of tags.entries()) {
      if (hasMoved(this.#fences[tag], fence)) this.#movedMs.set(tag, nowMs);
    }
    this.#fences = tags.map(({ fence }) => fence);
    this.#others = [...new Set(tags.flatMap(({ others }) => others))].sort((a, b) => a - b);
    const isHere = tags.some(({ fence }) => fence !== null);
    this.#current ||= isHere && (this.#others.length === 0 || tags.every((look, tag) => this.#isLed(tag, look, nowMs)));
  }

  #isLed(tag: number, { fence, led }: FormatLook, nowMs: number): boolean {
    const { owner, state } = parseFence(fence ?? '');
    const movedMs = this.#movedMs.get(tag) ?? Number.NEGATIVE_INFINITY;
    return owner === led && state !== 'free' && nowMs - movedMs <= ledMsMax;
  }
}
