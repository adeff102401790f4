import type { Folding } from '../intake/folding.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { StoredName, ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import { copyPosition, isWithin } from '../position/position.ts';
import { countText } from '../running/log.ts';
import { type RetryDeps, retryLogged } from '../running/waiting.ts';
import type { FanOuts } from '../writing/fan-outs.ts';
import type { TagLanes } from '../writing/tag-lanes.ts';
import { compareStored, type Difference } from './comparison.ts';
import { type Covered, Judge } from './judge.ts';
import type { Repairs } from './repairs.ts';
import { WindowMarks } from './window-marks.ts';

// However large the world is, checks take at most this share of the time.
const shareOfTime = 1 / 20;
const positionEveryMs = 100;
const namedMax = 5;
// Views of riders and keys are counted, not named: log lines may be kept longer than a rider's data.
const namedKinds = new Set(['day', 'ride', 'night', 'metro', 'foreign']);

interface BackgroundCheckDeps extends RetryDeps {
  folding: Folding;
  fanOuts: Pick<FanOuts, 'stored'>;
  writer: ViewWriter;
  tags: readonly number[];
  lanes: TagLanes;
  repairs: Repairs;
  metrics: ProjectorMetrics;
  /** At least so long between the checks of two tags. */
  everyMs: number;
}

/**
 * Compares whole views with the facts, tag after tag, as long as a projector leads. A difference is a fault, unless it is
 * a change on its way (judge.ts says which): it is counted, logged and mended.
 */
export class BackgroundCheck {
  readonly #deps: BackgroundCheckDeps;
  readonly #marks: WindowMarks;

  constructor(deps: BackgroundCheckDeps) {
    this.#deps = deps;
    this.#marks = new WindowMarks(deps.folding.fold.facts);
  }

  /** Checks until told to stop. */
  async run(stop: AbortSignal): Promise<void> {
    const { tags, everyMs, clock, metrics } = this.#deps;
    // Terms may be short. They begin with different tags, so that every tag has its turn.
    let next = Math.floor(clock.wallMs() / everyMs);
    let unchecked = new Set(tags);
    for (let pauseMs = everyMs; !stop.aborted; next++) {
      await clock.sleep(pauseMs, stop);
      const tag = tags[next % tags.length]!;
      const beganMs = clock.nowMs();
      if (!(await this.#checkOne(tag, stop))) continue;
      pauseMs = Math.max(everyMs, (clock.nowMs() - beganMs) / shareOfTime);
      unchecked.delete(tag);
      if (unchecked.size > 0) continue;
      metrics.checkedAll(clock.wallMs());
      unchecked = new Set(tags);
    }
  }

  /** False if the tag is being repaired anyway, or when told to stop. */
  async #checkOne(tag: number, stop: AbortSignal): Promise<boolean> {
    const { repairs, lanes } = this.#deps;
    const { fold } = this.#deps.folding;
    const isDoubtful = (): boolean => stop.aborted || repairs.wanted.has(tag);
    if (isDoubtful()) return false;
    const attempt = async () => {
      const faults: Difference[] = [];
      let isOneStore: boolean;
      const processes = await lanes.processesSeen([tag]);
      const judge = new Judge({
        facts: fold.facts,
        marks: this.#marks,
        store: this.#deps.writer,
        begin: () => this.#begin(tag, isDoubtful),
        // A store that was emptied or restored meanwhile shows it in the fence; one that came back as it was left, only by its
        // process. That is no fault of these views.
        end: async () => {
          isOneStore = (await lanes.processesSeen([tag])) === processes;
        },
        onDifferences: (differences, write) => {
          // The tag is in doubt by now: its repair compares all of it.
          if (isDoubtful() || !isOneStore) return;
          faults.push(...differences);
          void lanes.add(tag, write, { patience: true }).catch(() => {});
        },
      });
      for (const name of await this.#suspects(tag, stop)) judge.suspect(name);
      const unsubscribe = fold.subscribe(this.#marks.listener);
      await judge.run(null).finally(unsubscribe);
      return faults;
    };
    const faults = await retryLogged('compare views in the background', attempt, { ...this.#deps, signal: stop });
    if (faults && faults.length > 0) {
      this.#tell(tag, faults);
      // What is mended must not be found again.
      await lanes.written([tag]);
    }
    return !isDoubtful();
  }

  async #suspects(tag: number, stop: AbortSignal): Promise<StoredName[]> {
    const { folding, writer, clock } = this.#deps;
    const suspects: StoredName[] = [];
    const onDifference = (_: number, { kind, id }: ViewWrite): void => void suspects.push({ tag, kind, id });
    await compareStored(folding.fold.facts, writer.list([tag], true), [tag], onDifference, { signal: stop, clock });
    return suspects;
  }

  /** Begins a window. Resolves once all that is marked before it is written. */
  async #begin(tag: number, isOver: () => boolean): Promise<Covered> {
    const { folding, fanOuts, lanes, clock } = this.#deps;
    this.#marks.begin();
    const since = copyPosition(folding.position);
    while (!isOver()) {
      const { settled } = lanes;
      if (settled && isWithin(since, settled.start.position)) return new Map([[tag, fanOuts.stored()]]);
      await clock.sleep(positionEveryMs, lanes.signal);
    }
    return new Map();
  }

  #tell(tag: number, faults: readonly Difference[]): void {
    const { log, metrics } = this.#deps;
    for (const { name } of faults) metrics.faulty(name.kind);
    const names = faults.filter(({ name }) => namedKinds.has(name.kind));
    const some = names.slice(0, namedMax).map(({ what, name }) => `${what} ${name.kind} ${name.id}`);
    const more = faults.length - some.length;
    const list = [...some, ...(more > 0 ? [`${more} more`] : [])].join(', ');
    log.error(
      `Part ${tag} of the view store was not as written: ${countText(faults.length, 'difference')} from the log, which are being fixed: ${list}`,
    );
  }
}
