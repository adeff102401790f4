import { allTags } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import { sumOfShard } from '../facts/shard-sum.ts';
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
import type { Difference } from './difference.ts';
import { type Covered, Judge, nameOf, type Unjudged } from './judge.ts';
import { OwnFold } from './own-fold.ts';

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
  differences: Difference[];
}

export interface Judged extends Unjudged {
  found: FoundDifferences[];
}

export interface Verified extends Judged {
  /** Views compared. */
  compared: number;
  /**
   * Whether the facts at the stored position are not those that the views were written from: the log was compacted since,
   * or another build takes other records for bad.
   */
  otherFacts: boolean;
}

/** The store and the log can't be compared. */
export class NothingToVerifyError extends Error {
  override name = 'NothingToVerifyError';
}

/**
 * Compares every view of a running service with what an own fold of the log renders, while the service goes on writing
 * (judge.ts says how).
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
      const otherFacts = haveOtherFacts(fold.facts, stored, since);
      fold.beginWindow();
      await fold.foldToEnds();
      const { suspects, compared } = await this.#compareAll(fold);
      return { compared, otherFacts, ...(await this.#judge(fold, suspects.values(), stored)) };
    });
  }

  /**
   * Has whoever leads mend these, and compares them again: what is still different. Null where nobody leads. What is in no
   * tag can't be mended.
   */
  async repair(names: readonly StoredName[]): Promise<Judged | null> {
    const fold = this.#fold!;
    const tags = [...new Set(names.map(({ tag }) => tag))].filter((tag) => tag >= 0);
    return this.#orFault(async () => {
      await this.#deps.live.askCompare(tags);
      if (!(await this.#compared(tags))) return null;
      return this.#judge(fold, names, null);
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

  /** Judges suspects. `stored`: what covers the window that has begun; null: none has. */
  async #judge(
    fold: OwnFold,
    suspects: Iterable<StoredName>,
    stored: ReadonlyMap<number, StoredPosition> | null,
  ): Promise<Judged> {
    const found: FoundDifferences[] = [];
    const { live, clock } = this.#deps;
    const judge = new Judge({
      facts: fold.facts,
      marks: fold.marks,
      store: live,
      begin: async (tags) =>
        fanOutsOf(
          await covered(tags, fold.beginWindow(), {
            live,
            logIdentity: this.#logIdentity,
            clock,
            signal: this.#signal,
          }),
        ),
      end: () => fold.foldToEnds(),
      onDifferences: (differences) => {
        const { position } = fold;
        const last = found.at(-1);
        // Those of one look speak of one position.
        if (last && isWithin(position, last.position)) last.differences.push(...differences);
        else found.push({ position, differences: [...differences] });
      },
    });
    for (const name of suspects) judge.suspect(name);
    return { ...(await judge.run(stored && fanOutsOf(stored))), found };
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

const fanOutsOf = (stored: ReadonlyMap<number, StoredPosition>): Covered =>
  new Map([...stored].map(([tag, { fanOuts }]) => [tag, fanOuts]));

/** Whether tags that stand at the position of these facts were written from others. */
function haveOtherFacts(facts: Facts, stored: ReadonlyMap<number, StoredPosition>, at: Position): boolean {
  const sums = new Map<string, string>();
  return [...stored].some(([tag, { position, sum, shards }]) => {
    if (!isWithin(position, at)) return false;
    const index = tag % shards;
    const shard = `${index}/${shards}`;
    const own = sums.get(shard) ?? sumOfShard(facts, index, shards);
    sums.set(shard, own);
    return own !== sum;
  });
}

function assertWithin(position: Position, ends: Position): void {
  if (isWithin(position, ends)) return;
  const [beyond = 'a topic'] = partitionsBehind(ends, position);
  throw new NothingToVerifyError(
    `the views stand beyond the log's end in ${beyond}: they are of another log, or the log has lost records`,
  );
}
