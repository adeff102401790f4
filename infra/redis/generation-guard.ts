import type { Cluster, Redis } from 'ioredis';
import { backgroundClock, type Clock } from '../../projector/ports/clock.ts';
import { allTags, viewFormat } from '../../schemas/views/view-keys.ts';
import { otherFormats, parseFence, redisKeys } from './redis-keys.ts';

const lookMs = 250;

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

// A leader beats twice a second.
const stillMs = 3_000;

/** What one tag says of the view formats in a store, at one moment. */
interface FormatLook {
  /** The fence of our own format. */
  fence: string | null;
  /** The owner who has led the tag to the log's ends (redis-scripts.ts). */
  led: string | null;
  /** Other formats that have a fence. */
  others: readonly number[];
}

/**
 * Whether the views of our format are those to be served (docs/rules.md#ready-api): they are led, or they are the only
 * ones in the store. An old version that is started again, beside the views of a newer one, would show the day on which
 * it ended. Without I/O. What was once true stays so: an API process serves on while projectors come and go.
 */
export class GenerationState {
  #current = false;
  #others: readonly number[] = [];
  #fences: readonly (string | null)[] = [];
  /** When the fence of each tag last moved. */
  readonly #movedMs = new Map<number, number>();

  get current(): boolean {
    return this.#current;
  }

  /** Why they are not served; null where no other format is in the way. */
  get reason(): string | null {
    if (this.#current || this.#others.length === 0) return null;
    const others = `format${this.#others.length > 1 ? 's' : ''} ${this.#others.join(', ')}`;
    return (
      `the store also holds views of ${others}, and no projector of format ${viewFormat} leads up to the log's end; ` +
      'start one of this version, or see "ride-calendar generations list"'
    );
  }

  /** A look at every tag, in order. */
  look(tags: readonly FormatLook[], nowMs: number): void {
    for (const [tag, { fence }] of tags.entries()) {
      const before = this.#fences[tag];
      if (fence !== null && before !== undefined && fence !== before) this.#movedMs.set(tag, nowMs);
    }
    this.#fences = tags.map(({ fence }) => fence);
    this.#others = [...new Set(tags.flatMap(({ others }) => others))].sort((a, b) => a - b);
    const isHere = tags.some(({ fence }) => fence !== null);
    this.#current ||= isHere && (this.#others.length === 0 || tags.every((look, tag) => this.#isLed(tag, look, nowMs)));
  }

  #isLed(tag: number, { fence, led }: FormatLook, nowMs: number): boolean {
    if (fence === null || !isHeldBy(fence, led)) return false;
    const movedMs = this.#movedMs.get(tag);
    return movedMs !== undefined && nowMs - movedMs <= stillMs;
  }
}

function isHeldBy(fence: string, led: string | null): boolean {
  const { owner, state } = parseFence(fence);
  return state !== 'free' && owner === led;
}
