interface Owing {
  waiting: Set<(cause: unknown) => void>;
  /** The last reply, or the first command before any. */
  sinceMs: number;
}

/**
 * The replies that a client's connections owe. node-redis's socketTimeout counts from the last byte in either direction: what is
 * written now and then keeps a connection that has fallen silent, and no command on it would ever end. Here replies alone count.
 */
export class OwedReplies {
  readonly #msMax: number;
  readonly #onSilent: (cause: Error) => void;
  readonly #owing = new Map<string, Owing>();
  #timer: NodeJS.Timeout | null = null;

  /** `onSilent`: nothing has come for `msMax` from somebody who owes it. All who waited have got an error. */
  constructor(msMax: number, onSilent: (cause: Error) => void) {
    this.#msMax = msMax;
    this.#onSilent = onSilent;
  }

  /** Waits for a reply. `from`: who owes it, and gives its replies in the order of the commands. */
  wait<T>(from: string, reply: Promise<T>): Promise<T> {
    const owing = this.#owing.get(from) ?? { waiting: new Set(), sinceMs: performance.now() };
    this.#owing.set(from, owing);
    this.#timer ??= this.#lookIn(this.#msMax);
    return new Promise((resolve, reject) => {
      const then =
        <V>(tell: (value: V) => void) =>
        (value: V): void => {
          owing.sinceMs = performance.now();
          owing.waiting.delete(reject);
          if (owing.waiting.size === 0) this.#owing.delete(from);
          tell(value);
        };
      owing.waiting.add(reject);
      reply.then(then(resolve), then(reject));
    });
  }

  #lookIn = (ms: number): NodeJS.Timeout => setTimeout(() => this.#look(), ms).unref();

  #look(): void {
    this.#timer = null;
    const owing = [...this.#owing.values()];
    if (owing.length === 0) return;
    const leftMs = this.#msMax - (performance.now() - Math.min(...owing.map(({ sinceMs }) => sinceMs)));
    if (leftMs > 0) {
      this.#timer = this.#lookIn(leftMs);
      return;
    }
    const cause = new Error(`no answer for ${this.#msMax} ms`);
    this.#owing.clear();
    this.#onSilent(cause);
    for (const { waiting } of owing)
      for (const reject of waiting) reject(new Error(`Redis cannot be reached: ${cause.message}`, { cause }));
  }
}
