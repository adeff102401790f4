import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { finished } from 'node:stream/promises';

/**
 * A history: what a run of real processes was asked, told and done to, as lines of JSON, one event a line. The nemesis
 * and its readers write it (test/faults/README.md); the checker judges by it alone.
 *
 * All times are milliseconds of one monotonic clock. `at` is when the line's writer knew of the event, and lines are in its order.
 *
 * A *probe* is an entity whose records carry a number that grows by one with each publish, in a field that is shown, such
 * as the title "title1 17". So an answer tells which version of each probe it shows.
 */
interface Events {
  /**
   * A record was sent, and at `at` acknowledged. `offset` is null if no acknowledgement came: it may or may not be in the log.
   * `bad` records must become rejects.
   * Versions of a probe are sent one after the other, `n` from 1 on; `gone`: its record is a tombstone, or shows it nowhere.
   */
  publish: Omit<Place, 'offset'> & {
    sent: number;
    as: 'good' | 'bad';
    offset: number | null;
    version: { probe: string; n: number; gone: boolean } | null;
  };
  /** The log lost what it held of this partition from this offset on. */
  lost: Place;
  /**
   * A reader was answered, at `at`; it had asked at `start`. `status` 0: no whole answer came. `etag` and `hash` (of the body) are
   * null where there is none.
   *
   * `shows` has each probe that the answer tells something about: its version; `true`: it is there, with a version that is not
   * shown (a developer key that was accepted); `false`: it is absent (a ride's 404; a day without the ride; a 401, of the key).
   * A probe that the path must show and does not is written as `false`, never left out. Of a 503 it is empty.
   */
  answer: {
    process: string;
    path: string;
    start: number;
    status: number;
    etag: string | null;
    hash: string | null;
    shows: Record<string, number | boolean>;
  };
  /** A fault of a process or server is over. */
  fault: { begin: number; name: string; target: string };
  /** A process ended, `api-1` or then `api-1+1`. `asked`: by the nemesis, with SIGKILL or SIGTERM; null: nobody asked. */
  ended: { process: string; code: number | null; asked: 'kill' | 'stop' | null };
  /** After all faults, what a process answers, and what a service answers that has just replayed the log: for each path that was read. */
  final: { process: string; path: string; answered: string; replay: string };
  /** A record found in the rejected topic at the end, with the place that its headers name. */
  reject: Place;
  /** The last line: before it, all faults have ended, and the time in which everything must be readable has passed. */
  end: object;
}

interface Place {
  topic: string;
  partition: number;
  offset: number;
}

type Type = keyof Events;
export type EventOf<T extends Type> = Events[T] & { type: T; at: number };
export type HistoryEvent = { [T in Type]: EventOf<T> }[Type];

/** An event as it was read, with the number of its line, from 1. */
export type Line<T extends Type = Type> = { [Each in T]: EventOf<Each> & { line: number } }[T];

export async function readHistory(path: string): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const each of (await open(path)).readLines()) lines.push({ ...JSON.parse(each), line: lines.length + 1 });
  return lines;
}

export type HistoryWriter = ReturnType<typeof historyWriter>;

/** Appends events to a history's file, each with the time at which it is known. */
export function historyWriter(path: string) {
  const file = createWriteStream(path);
  const add = <T extends Type>(type: T, event: Events[T]): void =>
    void file.write(`${JSON.stringify({ type, at: nowMs(), ...event })}\n`);
  return {
    add,
    /** Writes the last line, and resolves once all is in the file. */
    async end(): Promise<void> {
      add('end', {});
      file.end();
      await finished(file);
    },
  };
}

/** The history's clock. */
export const nowMs = (): number => Math.round(performance.now() * 1_000) / 1_000;

/** What a history must not hold: the rule of test/faults/README.md that it breaks, and the lines that show it. */
export interface Finding {
  rule: 'history' | 'back' | 'older' | 'never published' | 'late' | 'unanswered' | 'bytes' | 'rejects' | 'ended';
  says: string;
  lines: readonly number[];
}
