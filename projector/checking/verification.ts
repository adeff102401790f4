import type { Partitioners } from '../../schemas/events/partitioner.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { Folding } from '../intake/folding.ts';
import type { MisplacedRecords } from '../intake/misplaced-records.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import { goneMs } from '../ports/leading.ts';
import type { LiveNotes, LiveViews } from '../ports/live-views.ts';
import { noMetrics } from '../ports/metrics.ts';
import type { StoredName } from '../ports/view-writer.ts';
import {
  copyPosition,
  deletedWords,
  isWithin,
  partitionsBehind,
  positionOf,
  reachedByAll,
} from '../position/position.ts';
import { parseStoredPosition, type StoredPosition, viewsOfAnotherLog } from '../position/settled-position.ts';
import type { Clock } from '../running/clock.ts';
import type { Log } from '../running/log.ts';
import { race, Stop } from '../running/stop.ts';
import { UnresolvedRejects } from '../status/unresolved-rejects.ts';
import { compareStored, type Difference, type OnDifference } from './comparison.ts';
import { type Covered, Judge, type Unjudged } from './judge.ts';
import { WindowMarks } from './window-marks.ts';

const notesEveryMs = 200;
const coverMsMax = 60_000;
const repairMsMax = 600_000;

interface VerificationDeps {
  eventLog: EventLog;
  live: LiveViews;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  partitioners?: Partitioners;
  /** The log is an archive: a projector reads it as it was when the projector started. */
  isReadOnce?: boolean;
  /** Called now and then: how many more views were compared. */
  onCompared?(views: number): void;
}

/** Differences, and the position of the facts that they differ from. */
interface FoundDifferences {
  position: Position;
  differences: Difference[];
}

export interface Judged extends Unjudged {
  found: FoundDifferences[];
}

export interface Verified extends Judged {
  compared: number;
  /**
   * Whether the views were written from other facts than the log has at their position: it was compacted since, or another
   * version of this software takes other records for bad.
   */
  otherFacts: boolean;
  misplaced: MisplacedRecords;
  /** Records of schemas that nobody knows, which are set aside and still the last of their key. */
  ofUnknownSchemas: number;
  /** What was deleted from the log since the views were folded, in words. Null: nothing. */
  deleted: string | null;
}

const cannotVerify = (why: string): Error => new Error(`Cannot verify: ${why}`);

/**
 * Compares every view of a running service with what an own fold of the log renders, while the service goes on writing
 * (judge.ts says how).
 *
 * The first window begins at the store's position. Where nobody leads, that position never moves: there is no other
 * window, and views that changed since are unknown.
 */
export class Verification {
  readonly #deps: VerificationDeps;
  readonly #following: Stop;
  readonly #signal: AbortSignal;
  #logIdentity: string | null = null;
  /** The log, folded by this process, which writes nothing. Set by `run`, as the marks are. */
  #folding!: Folding;
  #marks!: WindowMarks;
  #followed: Promise<void> = Promise.resolve();

  constructor(deps: VerificationDeps) {
    this.#deps = deps;
    this.#following = new Stop([deps.signal]);
    this.#signal = this.#following.signal;
  }

  /** Compares everything. Throws if the store and the log can't be compared, and the log's own faults. */
  async run(): Promise<Verified> {
    const { eventLog } = this.#deps;
    this.#logIdentity = (await eventLog.identity?.()) ?? null;
    const stored = await this.#storedPositions();
    const bounds = await eventLog.bounds();
    const since = reachedByAll([...stored.values()])!;
    const ends = positionOf(bounds, 'end');
    const [beyond] = partitionsBehind(ends, since);
    if (!isWithin(since, ends))
      throw cannotVerify(
        `the views stand beyond the log's end in ${beyond ?? 'a topic'}: they are of another log, or the log has lost records`,
      );
    if (this.#deps.isReadOnce && !isWithin(ends, since))
      throw cannotVerify(
        'the archive holds more than the views are of, and a projector reads it as it is when it starts: start the projector again, wait until it is ready, and call verify again',
      );
    const status = { rejects: new UnresolvedRejects() };
    const deps = { ...this.#deps, signal: this.#signal, rejects: null, metrics: noMetrics, status };
    const folding = new Folding(bounds, since, deps);
    const { facts } = folding.fold;
    this.#folding = folding;
    this.#marks = new WindowMarks(facts);
    this.#followed = folding.follow(this.#signal);
    return this.#orFault(async () => {
      await this.#foldTo(since);
      // Of tags that stand here.
      const { text } = facts.sum;
      const otherFacts = [...stored.values()].some(({ position, sum }) => isWithin(position, since) && sum !== text);
      folding.fold.subscribe(this.#marks.listener);
      this.#beginWindow();
      await this.#foldToEnds();
      const { suspects, compared } = await this.#compareAll();
      const deleted = deletedWords([...stored.values()], folding.begin);
      const found = { deleted, misplaced: folding.misplaced, ofUnknownSchemas: status.rejects.ofUnknownSchemas };
      return { compared, otherFacts, ...found, ...(await this.#judge(suspects, stored)) };
    });
  }

  /**
   * Asks the leader to mend these views, and compares them again. Resolves to what is still different; null where nobody
   * leads. A key that is in no tag can't be mended.
   */
  async repair(names: readonly StoredName[]): Promise<Judged | null> {
    const tags = [...new Set(names.map(({ tag }) => tag))].filter((tag) => tag >= 0);
    return this.#orFault(async () => {
      await this.#deps.live.askCompare(tags);
      if (!(await this.#compared(tags))) return null;
      return this.#judge(names, null);
    });
  }

  async end(): Promise<void> {
    this.#following.end();
    await this.#followed.catch(() => {});
  }

  /** Folds to a position. Throws if a partition can't be read so far. */
  async #foldTo(position: Position): Promise<void> {
    await this.#folding.foldTo(position, this.#signal);
    this.#signal.throwIfAborted();
    const [behind] = partitionsBehind(this.#folding.position, position);
    if (behind === undefined) return;
    throw new Error(
      `Cannot read ${behind} up to its end: it waits for the schema registry, or for a transaction to end. Try again once that is over`,
    );
  }

  /** Folds up to the log's ends, sampled now. */
  async #foldToEnds(): Promise<void> {
    const bounds = await race(this.#signal, this.#deps.eventLog.bounds());
    await this.#foldTo(positionOf(bounds, 'end'));
  }

  /** A window begins: changes are marked anew, and the log is folded as far as it goes. Returns the position. */
  #beginWindow(): Position {
    this.#marks.begin();
    this.#folding.limit = null;
    return copyPosition(this.#folding.position);
  }

  /** A fault of the log ends what waits for it. */
  #orFault<T>(work: () => Promise<T>): Promise<T> {
    const fault = this.#followed.then(() => new Promise<never>(() => {}));
    return race(null, work(), fault);
  }

  async #storedPositions(): Promise<Map<number, StoredPosition>> {
    // A leader stores its first position with a beat, shortly after it is ready.
    const areAllOrNone = (all: readonly LiveNotes[]) =>
      all.every(({ position }) => position !== null) || all.every(({ fence }) => fence === '');
    const notes = await this.#awaitNotes(allTags, coverMsMax, areAllOrNone);
    const stored = allTags.flatMap((tag): [number, StoredPosition][] => {
      const one = this.#storedOf(notes[tag]!);
      return one ? [[tag, one]] : [];
    });
    if (stored.length > 0) return new Map(stored);
    throw cannotVerify(
      notes.some(({ position }) => position !== null)
        ? viewsOfAnotherLog
        : 'no projector has written all views of this version there: check REDIS_URL and REDIS_KEY_PREFIX, run a projector, and wait until it is ready',
    );
  }

  /** The position of a tag, where it is of this log. */
  #storedOf({ position }: LiveNotes): StoredPosition | null {
    const stored = parseStoredPosition(position);
    return stored?.log === this.#logIdentity ? stored : null;
  }

  /** Names of all views that differ at first sight. */
  async #compareAll(): Promise<{ suspects: StoredName[]; compared: number }> {
    const { live, clock } = this.#deps;
    const suspects: StoredName[] = [];
    let compared = 0;
    const suspect: OnDifference = (tag, { kind, id }) => void suspects.push({ tag, kind, id });
    const onCompared = (views: number): void => {
      compared += views;
      this.#deps.onCompared?.(views);
    };
    const options = { signal: this.#signal, clock, onCompared };
    await compareStored(this.#folding.fold.facts, live.list(), allTags, suspect, options);
    return { suspects, compared };
  }

  /** Judges suspects. `stored`: the tags' positions, which cover the window that has begun; null: none has. */
  async #judge(suspects: readonly StoredName[], stored: ReadonlyMap<number, StoredPosition> | null): Promise<Judged> {
    const found: FoundDifferences[] = [];
    const judge = new Judge({
      facts: this.#folding.fold.facts,
      marks: this.#marks,
      store: this.#deps.live,
      begin: (tags) => this.#covered(tags, this.#beginWindow()),
      end: () => this.#foldToEnds(),
      onDifferences: (differences) => {
        const position = copyPosition(this.#folding.position);
        const last = found.at(-1);
        // Those that were found at one position stand together.
        if (last && isWithin(position, last.position)) last.differences.push(...differences);
        else found.push({ position, differences: [...differences] });
      },
    });
    for (const name of suspects) judge.suspect(name);
    const covered = stored && new Map([...stored].map(([tag, { fanOuts }]) => [tag, fanOuts]));
    return { ...(await judge.run(covered)), found };
  }

  /**
   * Waits until the tags' stored positions are at or beyond this one, so that all changes before it are written. Resolves to
   * the tags that are; those whose leader does not get there are left out.
   */
  async #covered(tags: readonly number[], since: Position): Promise<Covered> {
    const coveredIn = (notes: readonly LiveNotes[]): Covered =>
      new Map(
        tags.flatMap((tag, i) => {
          const stored = this.#storedOf(notes[i]!);
          return stored && isWithin(since, stored.position) ? [[tag, stored.fanOuts]] : [];
        }),
      );
    return coveredIn(await this.#awaitNotes(tags, coverMsMax, (notes) => coveredIn(notes).size === tags.length));
  }

  /** Resolves once no open list of these tags says `compare`; false where nobody leads them. */
  async #compared(tags: readonly number[]): Promise<boolean> {
    const areCompared = (notes: readonly LiveNotes[]) => notes.every(({ compare }) => !compare);
    return areCompared(await this.#awaitNotes(tags, repairMsMax, areCompared));
  }

  /** Reads some tags' notes until they are as wanted, while somebody leads there. Resolves to the last ones read. */
  async #awaitNotes(
    tags: readonly number[],
    waitMsMax: number,
    areWanted: (notes: readonly LiveNotes[]) => boolean,
  ): Promise<LiveNotes[]> {
    const { live, clock } = this.#deps;
    const beganMs = clock.nowMs();
    let before = '';
    let movedMs = beganMs;
    for (;;) {
      const notes = await live.notes(tags);
      const now = notes.map(({ fence, position }) => `${fence} ${position}`).join();
      if (now !== before) [before, movedMs] = [now, clock.nowMs()];
      const isOver = clock.nowMs() - movedMs >= goneMs || clock.nowMs() - beganMs > waitMsMax;
      if (isOver || areWanted(notes)) return notes;
      await clock.sleep(notesEveryMs, this.#signal);
      this.#signal.throwIfAborted();
    }
  }
}
