import { allTags } from '../../schemas/views/view-keys.ts';
import { isWithin, nearest } from '../leading/beginning.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import type { LiveViews } from '../ports/live-views.ts';
import type { Log } from '../ports/log.ts';
import type { StoredName } from '../ports/view-writer.ts';
import { partitionsBehind, positionOf } from '../position.ts';
import { Comparison } from '../writing/comparison.ts';
import type { StoredPosition } from '../writing/settled-position.ts';
import { Turns } from '../writing/turns.ts';
import { covered, Movement, storedOf } from './covered.ts';
import { type Difference, differencesOf } from './difference.ts';
import { OwnFold } from './own-fold.ts';

// A view that is touched in each of so many windows has been written anew in all but the last: it is what a leader wrote.
const windowsMax = 5;
const readMax = 500;
const lookMs = 200;
const repairMsMax = 600_000;

export interface VerificationDeps {
  eventLog: EventLog;
  live: LiveViews;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  /** So many views more were compared. */
  onCompared?(views: number): void;
}

/** Differences, and up to where in the log the facts were folded that they speak of. */
export interface FoundDifferences {
  position: Position;
  differences: readonly Difference[];
}

export interface Verified {
  /** Views compared. */
  compared: number;
  found: FoundDifferences[];
  /** Views that were written since the position that is stored beside them, or may be: not known. */
  unknown: readonly StoredName[];
  /** Views that changed all the while, so that a leader wrote them anew each time. */
  changing: number;
  /**
   * Whether the facts at the stored position are not those that the views were written from: the log was compacted since,
   * or another build takes other records for bad.
   */
  otherFacts: boolean;
}

export type Judged = Pick<Verified, 'found' | 'unknown' | 'changing'>;

/** The store and the log can't be compared. */
export class NothingToVerifyError extends Error {
  override name = 'NothingToVerifyError';
}

const nameOf = ({ tag, kind, id }: StoredName): string => `${tag}|${kind}:${id}`;
/** A hash may be looked at again for the sake of other fields. */
const spelled = ({ name, field }: Difference): string => `${nameOf(name)} ${field ?? ''}`;

/**
 * Compares every view of a running service with what an own fold of the log renders, while the service goes on writing.
 *
 * The store and the own fold are never at the same place of the log, and of several partitions each passes through other
 * mixtures. So a difference is judged within a *window* of the log, from a position S to a position E:
 *
 * 1. The own fold is at S, and marks from there on what changes touch, by a leader's own rules (writing/marking.ts).
 * 2. The tag's stored position is at or beyond S: what changes before S touch is written, but for fan-outs that are
 *    stored with the position.
 * 3. Then the view's bytes are read.
 * 4. Then the log's ends are sampled and folded to: E. Whoever wrote the bytes had folded nothing beyond E.
 *
 * So the bytes were rendered from the changes before S and some of those from S to E. If none of those touches the view,
 * and no fan-out under way does, they can only be what the own fold renders at E: other bytes are a difference. If one
 * does, nothing is said, and the view is looked at again in a later window. Bytes that are as rendered are right, whenever
 * that is. A view that is touched in each window is written anew in each.
 *
 * The first window begins at the position that the store has when it is first looked at. Where nobody leads, that one
 * never moves on: it is the only window, and views touched since are not known.
 */
export class Verification {
  readonly #deps: VerificationDeps;
  readonly #following = new AbortController();
  readonly #signal: AbortSignal;
  #logIdentity: string | null = null;
  #fold: OwnFold | null = null;
  #followed: Promise<void> = Promise.resolve();

  constructor(deps: VerificationDeps) {
    this.#deps = deps;
    this.#signal = AbortSignal.any([deps.signal, this.#following.signal]);
  }

  /** Compares everything. Throws NothingToVerifyError, and the log's own faults. */
  async run(): Promise<Verified> {
    const { eventLog } = this.#deps;
    this.#logIdentity = (await eventLog.identity?.()) ?? null;
    const stored = await this.#storedPositions();
    const bounds = await eventLog.bounds();
    const since = nearest([...stored.values()])!;
    assertWithin(since, positionOf(bounds, 'end'));
    const fold = new OwnFold(bounds, since, { ...this.#deps, signal: this.#signal });
    this.#fold = fold;
    this.#followed = fold.follow(this.#signal);
    this.#followed.catch(() => {});
    return this.#orFault(async () => {
      await fold.foldTo(since);
      const same = [...stored.values()].filter(({ position }) => isWithin(position, since));
      const otherFacts = same.some(({ sum }) => sum !== fold.facts.sum.text);
      fold.markFromHere();
      await fold.foldToEnds();
      const { suspects, compared } = await this.#compareAll(fold);
      return { compared, otherFacts, ...(await this.#judge(fold, suspects, stored)) };
    });
  }

  /**
   * Has whoever leads mend these, and compares them again: what is still different. Null where nobody leads. What is in no
   * tag can't be mended.
   */
  async repair(names: readonly StoredName[]): Promise<Judged | null> {
    const fold = this.#fold!;
    const suspects = new Map(names.map((name) => [nameOf(name), name]));
    const tags = [...new Set(names.map(({ tag }) => tag))].filter((tag) => tag >= 0);
    return this.#orFault(async () => {
      await this.#deps.live.askCompare(tags);
      if (!(await this.#compared(tags))) return null;
      fold.markFromHere();
      await fold.foldToEnds();
      return this.#judge(fold, suspects, new Map());
    });
  }

  async end(): Promise<void> {
    this.#following.abort();
    await this.#followed.catch(() => {});
  }

  /** A fault of the log ends what waits for it. */
  #orFault<T>(work: () => Promise<T>): Promise<T> {
    const fault = this.#followed.then(() => new Promise<never>(() => {}));
    return Promise.race([work(), fault]);
  }

  async #storedPositions(): Promise<Map<number, StoredPosition>> {
    const notes = await this.#deps.live.notes(allTags);
    const stored = allTags.flatMap((tag): [number, StoredPosition][] => {
      const one = storedOf(notes[tag]!, this.#logIdentity);
      return one ? [[tag, one]] : [];
    });
    if (stored.length > 0) return new Map(stored);
    throw new NothingToVerifyError(
      notes.some(({ position }) => position !== null)
        ? 'the views are of another log, or of one whose topics were made anew: check KAFKA_BROKERS, KAFKA_TOPIC_PREFIX, REDIS_URL and REDIS_KEY_PREFIX'
        : 'no projector has written views of this version there: check REDIS_URL and REDIS_KEY_PREFIX, and run a projector',
    );
  }

  /** Names of all views that differ at first sight. */
  async #compareAll(fold: OwnFold): Promise<{ suspects: Map<string, StoredName>; compared: number }> {
    const comparison = new Comparison(fold.facts);
    const suspects = new Map<string, StoredName>();
    const turns = new Turns();
    let [compared, told] = [0, 0];
    const turn = async (): Promise<void> => {
      if (!turns.due()) return;
      this.#signal.throwIfAborted();
      this.#deps.onCompared?.(compared - told);
      told = compared;
      await turns.take();
    };
    for await (const stored of this.#deps.live.list()) {
      compared += 1;
      const { tag, kind, id } = stored;
      if (comparison.compare(stored)) suspects.set(nameOf(stored), { tag, kind, id });
      await turn();
    }
    for (const missing of comparison.missing(new Set(allTags))) {
      if (missing) {
        compared += 1;
        const name = { tag: missing[0], kind: missing[1].kind, id: missing[1].id };
        suspects.set(nameOf(name), name);
      }
      await turn();
    }
    this.#deps.onCompared?.(compared - told);
    return { suspects, compared };
  }

  /** Judges suspects, window by window. `stored`: what covers the window that has begun. */
  async #judge(
    fold: OwnFold,
    suspects: Map<string, StoredName>,
    stored: ReadonlyMap<number, StoredPosition>,
  ): Promise<Judged> {
    const { live, clock } = this.#deps;
    const found: FoundDifferences[] = [];
    const told = new Set<string>();
    for (let window = 0; suspects.size > 0 && window < windowsMax; window++) {
      const differences: Difference[] = [];
      const names = [...suspects.values()];
      for (let i = 0; i < names.length; i += readMax) {
        differences.push(...(await this.#look(fold, suspects, names.slice(i, i + readMax), stored)));
      }
      const news = differences.filter((one) => !told.has(spelled(one)));
      for (const one of news) told.add(spelled(one));
      if (news.length > 0) found.push({ position: fold.position, differences: news });
      if (suspects.size === 0) break;
      const tags = [...new Set([...suspects.values()].map(({ tag }) => tag))];
      const since = fold.markFromHere();
      const { signal } = this.#deps;
      stored = await covered(tags, since, { live, logIdentity: this.#logIdentity, clock, signal });
      if (stored.size === 0) break;
    }
    const left = [...suspects.values()];
    const unknown = left.filter(({ tag }) => !stored.has(tag));
    return { found, unknown, changing: left.length - unknown.length };
  }

  /** Looks at some suspects again: takes out what is right, and what certainly differs, which it returns. */
  async #look(
    fold: OwnFold,
    suspects: Map<string, StoredName>,
    names: readonly StoredName[],
    stored: ReadonlyMap<number, StoredPosition>,
  ): Promise<Difference[]> {
    const views = await this.#deps.live.read(names);
    await fold.foldToEnds();
    const comparison = new Comparison(fold.facts);
    return names.flatMap((name, i) => {
      const view = views[i]!;
      const write = view ? comparison.compare(view) : comparison.absent(name);
      const differences = write ? differencesOf(name, view, write) : [];
      const certain = differences.filter((one) => this.#isCertain(one, fold, stored.get(name.tag)));
      if (certain.length === differences.length) suspects.delete(nameOf(name));
      return certain;
    });
  }

  #isCertain(difference: Difference, fold: OwnFold, stored: StoredPosition | undefined): boolean {
    // No projector writes such a thing, ever.
    if (difference.name.kind === 'foreign' || difference.what === 'wrong type') return true;
    if (!stored || fold.isMarked(difference)) return false;
    return !fold.isAwaited(difference, stored.fanOuts);
  }

  /** Resolves once no open list of these tags says `compare`; false where nobody leads them. */
  async #compared(tags: readonly number[]): Promise<boolean> {
    const { live, clock } = this.#deps;
    const movement = new Movement(clock);
    for (const beganMs = clock.nowMs(); clock.nowMs() - beganMs < repairMsMax; ) {
      const notes = await live.notes(tags);
      if (notes.every(({ compare }) => !compare)) return true;
      if (!movement.goesOn(notes)) return false;
      await clock.sleep(lookMs, this.#signal);
      this.#signal.throwIfAborted();
    }
    return false;
  }
}

function assertWithin(position: Position, ends: Position): void {
  if (isWithin(position, ends)) return;
  const [beyond = 'a topic'] = partitionsBehind(ends, position);
  throw new NothingToVerifyError(
    `the views stand beyond the log's end in ${beyond}: they are of another log, or the log has lost records`,
  );
}
