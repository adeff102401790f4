import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { Folding } from '../intake/folding.ts';
import { type EventLog, LogTruncatedError } from '../ports/event-log.ts';
import type { Leadership } from '../ports/view-writer.ts';
import { deletedSince, deletedWords, positionOf } from '../position/position.ts';
import { parseStoredPosition, type StoredPosition } from '../position/settled-position.ts';
import { onAbort, race } from '../running/stop.ts';
import { type RetryDeps, retryLogged } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';

const everyMs = 60_000;

interface DeletionWatchDeps extends RetryDeps {
  eventLog: Pick<EventLog, 'bounds' | 'policies'>;
  leadership: Pick<Leadership, 'look'> | null;
  tags: readonly number[];
  folding: Pick<Folding, 'begin'>;
  identity: string | null;
  status: Pick<Status, 'deletions' | 'role'>;
}

/**
 * Looks at the start and every minute whether records of the log were deleted, or may be (docs/rules.md#deleted-records): since
 * this fold began, or since the one whose facts the views are of.
 */
export class DeletionWatch {
  readonly #deps: DeletionWatchDeps;
  #said = '';

  constructor(deps: DeletionWatchDeps) {
    this.#deps = deps;
  }

  /** Until told to stop. */
  async run(): Promise<void> {
    const { clock, signal, eventLog } = this.#deps;
    if (!eventLog.policies) await new Promise<void>((resolve) => onAbort(signal, resolve));
    while (!signal.aborted) {
      const stored = await retryLogged('look whether records of the log were deleted', () => this.#look(), this.#deps);
      this.#assertFoldedLate(stored ?? []);
      await clock.sleep(everyMs, signal);
    }
  }

  /** Its facts may hold what is deleted, and the leader's do not: led by this one, views would come back. */
  #assertFoldedLate(stored: readonly StoredPosition[]): void {
    const { folding, status } = this.#deps;
    const since = stored.map(({ begin }) => begin && deletedWords([folding], begin)).find(Boolean);
    if (status.role === 'standby' && since)
      throw new LogTruncatedError(
        `Cannot stand by with what was read: ${since}, and the leader has read the log from its start since`,
      );
  }

  /** Returns the positions beside the views. */
  async #look(): Promise<StoredPosition[]> {
    const { eventLog, leadership, tags, folding, identity, signal, status, log } = this.#deps;
    const looks = leadership ? await race(signal, leadership.look(tags)) : [];
    const stored = looks
      .map(({ position }) => parseStoredPosition(position))
      .filter((each) => each !== null && each.log === identity) as StoredPosition[];
    const [bounds, policies] = await race(signal, Promise.all([eventLog.bounds(), eventLog.policies!()]));
    const [folds, low] = [[folding, ...stored], positionOf(bounds, 'low')];
    const deleted = deletedSince(folds, low);
    const wrong = topicNames.filter((topic) => policies && policies[topic] !== 'compact');
    const words = [
      ...(deleted.length > 0
        ? [
            `${deletedWords(folds, low)}. What is served keeps them until a projector reads the log anew: have your ride system publish them again before`,
          ]
        : []),
      ...wrong.map(
        (topic) =>
          `topic ${topic} has cleanup.policy ${policies![topic]}, by which Kafka deletes records in force: set it to compact`,
      ),
    ];
    status.deletions = { topics: new Set<TopicName>([...wrong, ...deleted.map(({ topic }) => topic)]), words };
    const said = words.join('; ');
    if (said !== this.#said && said) log.error(`The log loses records: ${said}`);
    this.#said = said;
    return stored;
  }
}
