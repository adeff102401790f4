import type { Clock } from '../ports/clock.ts';
import { StoreRefusesError, type ViewWriter } from '../ports/view-writer.ts';

/** A call that takes longer counts as waiting. */
const promptMs = 500;

/** Measures each call of a view writer, and says since when the store has not answered. */
export class StoreAnswers {
  readonly #clock: Clock;
  readonly #measured: (operation: string, seconds: number) => void;
  /** When the calls in progress began, in order. */
  readonly #underWay = new Set<{ beganMs: number }>();
  #failingSinceMs: number | null = null;
  /** Why the last call failed, where the store said so. Null: it succeeded, or the store did not say. */
  refusal: string | null = null;

  constructor(clock: Clock, measured: (operation: string, seconds: number) => void) {
    this.#clock = clock;
    this.#measured = measured;
  }

  /** Since when a call has been waiting, or every call has failed. Null: the store answers. */
  get silentSinceMs(): number | null {
    const oldest = this.#underWay.values().next().value;
    const owedMs = oldest && this.#clock.nowMs() - oldest.beganMs >= promptMs ? oldest.beganMs : null;
    if (this.#failingSinceMs === null || owedMs === null) return this.#failingSinceMs ?? owedMs;
    return Math.min(this.#failingSinceMs, owedMs);
  }

  async call<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const beganMs = this.#clock.nowMs();
    const mine = { beganMs };
    this.#underWay.add(mine);
    try {
      const result = await call();
      this.#failingSinceMs = null;
      this.refusal = null;
      this.#measured(operation, (this.#clock.nowMs() - beganMs) / 1000);
      return result;
    } catch (error) {
      this.#failingSinceMs ??= beganMs;
      this.refusal = error instanceof StoreRefusesError ? error.message : null;
      throw error;
    } finally {
      this.#underWay.delete(mine);
    }
  }
}

/** The same writer, with its calls measured. Closing says nothing about the store. */
export function watchedWriter(writer: ViewWriter, answers: StoreAnswers): ViewWriter {
  const { leadership } = writer;
  return {
    commit: (tag, writes, notes) => answers.call('commit', () => writer.commit(tag, writes, notes)),
    list: (tags, whole) => watchedList(writer.list(tags, whole), answers),
    read: (names) => answers.call('read', () => writer.read(names)),
    leadership: leadership && {
      ...leadership,
      look: (tags) => answers.call('look', () => leadership.look(tags)),
      coming: (tags) => answers.call('coming', () => leadership.coming(tags)),
      take: (tag, seen, doubtful) => answers.call('take', () => leadership.take(tag, seen, doubtful)),
      free: (tag) => answers.call('free', () => leadership.free(tag)),
    },
    close: () => writer.close(),
  };
}

async function* watchedList<T>(list: AsyncIterable<T>, answers: StoreAnswers): AsyncIterable<T> {
  const iterator = list[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await answers.call('list', () => iterator.next());
      if (done) return;
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}
