import type { Cluster, Redis } from 'ioredis';
import { backgroundClock, type Clock } from '../../projector/ports/clock.ts';
import { allTags, viewFormat } from '../../schemas/views/view-keys.ts';
import { type FormatLook, GenerationState } from './generation-state.ts';
import { formatsMax, redisKeys } from './redis-keys.ts';

const lookMs = 250;
const otherFormats = Array.from({ length: formatsMax }, (_, i) => i + 1).filter((format) => format !== viewFormat);

/** Looks which view formats a store holds, and who leads ours, until it is known that ours is the one to be served. */
export class GenerationGuard {
  readonly #look: (tag: number) => Promise<FormatLook>;
  readonly #clock: Clock;
  readonly #tags: readonly number[];
  readonly #state = new GenerationState();
  readonly #stop = new AbortController();
  #early = new AbortController();

  /** `tags`: those that views are in. */
  constructor(look: (tag: number) => Promise<FormatLook>, clock: Clock, tags: readonly number[] = allTags) {
    this.#look = look;
    this.#clock = clock;
    this.#tags = tags;
    void this.#run();
  }

  /** Whether views of our format may be served. */
  get current(): boolean {
    return this.#state.current;
  }

  /** Why not, where another format is in the way. */
  get reason(): string | null {
    return this.#state.reason;
  }

  /** Does not wait for the next look: a connection was made. */
  lookNow(): void {
    this.#early.abort();
  }

  close(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && !this.#state.current) {
      this.#early = new AbortController();
      try {
        this.#state.look(await Promise.all(this.#tags.map(this.#look)), this.#clock.nowMs());
      } catch {
        // Redis may be away: it is asked again soon.
      }
      if (!this.#state.current) await this.#clock.sleep(lookMs, AbortSignal.any([signal, this.#early.signal]));
    }
  }
}

/** The guard over a client's commands: one per tag, whose keys are all in one slot. */
export function redisGenerationGuard(client: Redis | Cluster, keyPrefix: string): GenerationGuard {
  const own = redisKeys(keyPrefix);
  const others = otherFormats.map((format) => redisKeys(keyPrefix, format));
  const look = async (tag: number): Promise<FormatLook> => {
    const [fence, led, ...found] = await client.mget(
      own.fence(tag),
      own.led(tag),
      ...others.map((keys) => keys.fence(tag)),
    );
    return { fence: fence!, led: led!, others: otherFormats.filter((_, i) => found[i] !== null) };
  };
  const guard = new GenerationGuard(look, backgroundClock);
  client.on('ready', () => guard.lookNow());
  return guard;
}
