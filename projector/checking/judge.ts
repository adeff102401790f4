import type { Facts } from '../facts/facts.ts';
import type { StoredName, ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import type { StoredFanOut } from '../position/settled-position.ts';
import { Comparison, type Difference } from './comparison.ts';
import type { WindowMarks } from './window-marks.ts';

// A view that changes in so many windows running is being rewritten all the time: it is reported as changing, not as wrong.
const windowsMax = 5;
const readMax = 500;

/** The tags where all changes before a window are written, each with the fan-outs that are still under way. */
export type Covered = ReadonlyMap<number, readonly StoredFanOut[]>;

/** What judging needs of a fold, its own or the leader's. */
interface JudgeDeps {
  facts: Facts;
  marks: WindowMarks;
  store: Pick<ViewWriter, 'read'>;
  /** Begins a window. Resolves once all changes before it are written, to the tags where they are. */
  begin(tags: readonly number[]): Promise<Covered>;
  /** Ends a window: folds at least as far as the store's leader had folded. */
  end(): Promise<void>;
  /** Called with certain differences of one view, and the write that mends it, rendered in this turn of the event loop. */
  onDifferences(differences: readonly Difference[], write: ViewWrite): void;
}

/** Views that could not be judged. */
export interface Unjudged {
  /** Nobody leads their tags: it is not known whether the changes before the window are written. */
  unknown: readonly StoredName[];
  /** How many changed in every window. */
  changing: number;
}

const nameOf = ({ tag, kind, id }: StoredName): string => `${tag}|${kind}:${id}`;

/**
 * Judges whether views that seem to differ are wrong, while changes flow.
 *
 * The store and a fold beside it are never at the same place of the log. With several partitions, each passes through
 * other mixtures of their records. So a difference is judged within a *window* of the log, from a position S to a position E:
 *
 * 1. The fold is at S, and marks from there on what changes touch, by a leader's own rules (writing/marking.ts).
 * 2. The tag's stored position is at or beyond S: all changes before S are written, except fan-outs that are stored with
 *    the position.
 * 3. Then the view's bytes are read.
 * 4. Then the log's ends are sampled and folded to: E. The writer of the bytes had folded nothing beyond E.
 *
 * So the bytes were rendered from the changes before S and some of those from S to E. If none of those touches the view,
 * and no fan-out under way does, they can only be what the fold renders at E: other bytes are wrong. If one does, the view
 * is judged again in a later window. Bytes that equal what the fold renders, at whatever moment, are right.
 *
 * A leader that checks its own views is always at E.
 */
export class Judge {
  readonly #deps: JudgeDeps;
  readonly #suspects = new Map<string, StoredName>();
  /** Differences that were reported. A rider's hash may be judged again because of its other fields. */
  readonly #told = new Set<string>();

  constructor(deps: JudgeDeps) {
    this.#deps = deps;
  }

  suspect({ tag, kind, id }: StoredName): void {
    this.#suspects.set(nameOf({ tag, kind, id }), { tag, kind, id });
  }

  /** Judges all suspects, window by window. `covered`: of a window that has begun; null: none has. */
  async run(covered: Covered | null): Promise<Unjudged> {
    for (let window = 0; this.#suspects.size > 0 && window < windowsMax; window++) {
      if (covered === null || window > 0) {
        const tags = new Set([...this.#suspects.values()].map(({ tag }) => tag));
        // What is in no tag has no position to wait for.
        tags.delete(-1);
        covered = await this.#deps.begin([...tags]);
      }
      const names = [...this.#suspects.values()];
      for (let i = 0; i < names.length; i += readMax) await this.#judge(names.slice(i, i + readMax), covered);
      if (covered.size === 0) break;
    }
    const left = [...this.#suspects.values()];
    const unknown = left.filter(({ tag }) => !covered?.has(tag));
    return { unknown, changing: left.length - unknown.length };
  }

  /** Reads some suspects again. Forgets those that are right, and those that are certainly wrong. */
  async #judge(names: readonly StoredName[], covered: Covered): Promise<void> {
    const views = await this.#deps.store.read(names);
    await this.#deps.end();
    const comparison = new Comparison(this.#deps.facts);
    for (const [i, name] of names.entries()) {
      const view = views[i]!;
      const found = view ? comparison.compare(view) : comparison.absent(name);
      const differences = found?.differences() ?? [];
      const certain = differences.filter((one) => this.#isCertain(one, covered.get(name.tag)));
      if (certain.length === differences.length) this.#suspects.delete(nameOf(name));
      const news = certain.filter(({ field = '' }) => !this.#told.has(`${nameOf(name)} ${field}`));
      for (const { field = '' } of news) this.#told.add(`${nameOf(name)} ${field}`);
      if (news.length > 0) this.#deps.onDifferences(news, found!.write);
    }
  }

  #isCertain(difference: Difference, fanOuts: readonly StoredFanOut[] | undefined): boolean {
    // No projector writes such a thing, ever.
    if (difference.name.kind === 'foreign' || difference.what === 'wrong type') return true;
    const { marks } = this.#deps;
    return fanOuts !== undefined && !marks.isMarked(difference) && !marks.isAwaited(difference, fanOuts);
  }
}
