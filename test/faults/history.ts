import { createWriteStream, type WriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { finished } from 'node:stream/promises';

/**
 * A history: what a run of real processes was asked, told and done to, as lines of JSON, one event a line. The nemesis
 * and its readers write it (test/faults/README.md); the checker judges by it alone.
 *
 * All times are milliseconds of one monotonic clock. `at` is when the line's writer knew of the event. Lines may stand in any
 * order, but for `begin`, which is the first line, and `end`, the last one.
 *
 * A *probe* is an entity whose records carry a number that grows by one with each publish, in a field that is shown, such
 * as the title "probe 17 / 000123". So an answer tells which version of each probe it shows.
 */
interface Events {
  /** The first line. Readers ask for `path` at `process` again and again, from when all is ready to `end`. */
  begin: { seed: number; readers: { reader: string; process: string; path: string }[] };
  /**
   * The last line. `lines` counts those before it. Before it, all faults have ended, and the time in which everything must be
   * readable has passed.
   */
  end: { lines: number };
  /**
   * A record was sent, and at `at` acknowledged. `offset` is null if no acknowledgement came: it may or may not be in the log.
   * `bad` records must become rejects.
   * Versions of a probe are sent one after the other, `n` from 1 on; `gone`: its record is a tombstone, or shows it nowhere.
   */
  publish: {
    sent: number;
    as: 'good' | 'bad';
    topic: string;
    partition: number;
    offset: number | null;
    version: { probe: string; n: number; gone: boolean } | null;
  };
  /** The log lost what it held of this partition from this offset on. */
  lost: { topic: string; partition: number; from: number };
  /**
   * A reader was answered, at `at`; it had asked at `start`. `status` 0: no whole answer came. `etag` and `hash` (of the body) are
   * null where there is none.
   *
   * `shows` has each probe that the answer tells something about: its version; `true`: it is there, with a version that is not
   * shown (a developer key that was accepted); `false`: it is absent (a ride's 404; a day without the ride; a 401, of the key).
   * A probe that the path must show and does not is written as `false`, never left out. Of a 503 it is empty.
   */
  answer: {
    reader: string;
    process: string;
    path: string;
    start: number;
    status: number;
    etag: string | null;
    hash: string | null;
    shows: Record<string, number | boolean>;
  };
  /** A fault begins or ends. `id` is one of this history's own, `target` the name of a process or server. */
  fault: { id: number; state: 'begin' | 'end'; name: string; target: string };
  /**
   * A process of the service was started, or ended. Its name is new with every start: `api-1`, then `api-1+1`.
   * `asked`: `kill` (SIGKILL) and `stop` (SIGTERM) by the nemesis; null: nobody asked.
   */
  process: {
    process: string;
    state: 'started' | 'ended';
    code: number | null;
    asked: 'kill' | 'stop' | null;
  };
  /** After all faults, what a process answers, and what a service answers that has just replayed the log: for each path that was read. */
  final: { process: string; path: string; answered: Body; replay: Body };
  /** A record found in the rejected topic at the end, with the place that its headers name. */
  reject: { topic: string; partition: number; offset: number };
}

interface Body {
  status: number;
  body: string;
}

export type HistoryEvent = { [T in keyof Events]: Events[T] & { type: T; at: number } }[keyof Events];
export type EventOf<T extends HistoryEvent['type']> = Extract<HistoryEvent, { type: T }>;

/** An event as it was read, with the number of its line, from 1. */
export type Line<T extends HistoryEvent['type'] = HistoryEvent['type']> = EventOf<T> & { line: number };

/** Reads a history's file. */
export const openHistory = async (path: string): Promise<Line[]> => readHistory((await open(path)).readLines());

/** @throws Error that names the first line that is no event */
export async function readHistory(lines: AsyncIterable<string> | Iterable<string>): Promise<Line[]> {
  const events: Line[] = [];
  for await (const each of lines) {
    if (each === '') continue;
    const line = events.length + 1;
    try {
      events.push({ ...(JSON.parse(each) as HistoryEvent), line });
    } catch (cause) {
      throw new Error(`Cannot read line ${line} of the history: ${(cause as Error).message}`, { cause });
    }
  }
  return events;
}

export const historyLine = (each: HistoryEvent): string => `${JSON.stringify(each)}\n`;

type WithoutTime = HistoryEvent extends infer Each ? (Each extends unknown ? Omit<Each, 'at'> : never) : never;

/** Appends events to a history's file, each with the time at which it is known. */
export class HistoryWriter {
  readonly path: string;
  readonly #file: WriteStream;
  #lines = 0;

  /** Writes the first line. */
  constructor(path: string, begin: Omit<EventOf<'begin'>, 'type' | 'at'>) {
    this.path = path;
    this.#file = createWriteStream(path);
    this.add({ type: 'begin', ...begin });
  }

  add(event: WithoutTime): void {
    this.#lines++;
    this.#file.write(historyLine({ ...event, at: nowMs() } as HistoryEvent));
  }

  /** Writes the last line, and resolves once all is in the file. */
  async end(): Promise<void> {
    this.add({ type: 'end', lines: this.#lines });
    this.#file.end();
    await finished(this.#file);
  }
}

/** The history's clock. */
export const nowMs = (): number => Math.round(performance.now() * 1_000) / 1_000;

/** What a history must not hold: the rule that it breaks, and the lines that show it. */
export interface Finding {
  rule: Rule;
  says: string;
  lines: readonly number[];
}

export type Rule =
  | 'history' // cannot be judged: cut off, or nobody looked
  | 'back' // a reader went back at one process
  | 'older' // somebody was told an older version than somebody else before
  | 'absent' // a false 404, 401 or empty day
  | 'never published' // a version that the log does not hold
  | 'late' // a change was not readable in time
  | 'unanswered' // no answer, without a fault
  | 'bytes' // one ETag for two bodies, or an end that differs from a replay's
  | 'rejects'
  | 'ended'; // a process ended unasked
