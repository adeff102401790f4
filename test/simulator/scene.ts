import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { openNamesMax as shippedMax } from '../../infra/redis/views/view-scripts.ts';
import { LogTruncatedError, PartitionsChangedError } from '../../projector/ports/event-log.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { Random } from '../../services/simulate/world/random.ts';
import { Judge } from './judge.ts';
import type { Published } from './log-partition.ts';
import { fairWeather, Master } from './network.ts';
import { ApiProcess, ProjectorProcess, type Surroundings, thisFormat } from './processes.ts';
import { judging, ownNights, type Question, questions, type Reader } from './readers.ts';
import { RedisInMemory } from './redis-in-memory.ts';
import { SimulatedLog } from './simulated-log.ts';
import { SimulatedRejects } from './simulated-rejects.ts';
import { Timeline } from './timeline.ts';
import { Changes, days, tags } from './world.ts';

const dayMs = 86_400_000;
// Midnight in Los Angeles after the first of the two days.
const midnightMs = (days[0] + 1) * dayMs + 7 * 3_600_000;
const restartMs = 1_000;
const readersPerApi = 2;

export interface SceneOptions {
  /** How many Redis processes share the tags. */
  masters?: number;
  /** From how many names on an open list says `compare` instead. */
  openNamesMax?: number;
  apis?: number;
  /** Somebody has led before, and has left the tags free: nobody need wait for them. */
  free?: boolean;
  /** It begins at most so long before midnight. */
  beforeMidnightMs?: number;
}

/** It strikes now. `lastsMs`: so long, unless peace comes before; then it is mended. */
export type Struck = (lastsMs?: number, mend?: () => void) => void;
export type Fault = (scene: Scene, struck: Struck) => void;

/** A world under simulation: a log, Redis, projectors, APIs and their readers. All that happens comes from its seed. */
export class Scene implements Surroundings {
  readonly random: Random;
  readonly timeline: Timeline;
  readonly log: SimulatedLog;
  readonly masters: Master[];
  readonly weather = fairWeather();
  readonly changes: Changes;
  readonly judge = new Judge();
  readonly readers: Reader[] = [];
  readonly said: string[] = [];
  /** Faults that struck, and until when each lasted. */
  readonly faults: { name: string; fromMs: number; toMs: number }[] = [];
  /** What is to follow a fault when it strikes, by the fault's name. */
  readonly follows: Record<string, () => void> = {};
  projectors: ProjectorProcess[] = [];
  /** Projectors that were started with other settings, by mistake. */
  readonly strays: ProjectorProcess[] = [];
  readonly apis: ApiProcess[] = [];
  readonly rejects = new SimulatedRejects();
  readonly keys = redisKeys('', thisFormat);
  readonly tags = tags;
  /** What readers were told that they must not be, or what else broke. */
  fault: Error | null = null;
  storeSkewMs = 0;
  calendarSkewMs = 0;
  /** Projectors that failed, and are about to be started again. */
  restarting = 0;
  #untilMs = 0;
  /** Readers have stopped. */
  quiet = false;
  readonly #started: ProjectorProcess[] = [];
  #processes = 0;
  readonly #asked = new Set<Reader>();

  constructor(seed: number, options: SceneOptions = {}) {
    const { masters = 1, openNamesMax = shippedMax, apis = 2, free = false, beforeMidnightMs = 30_000 } = options;
    this.random = new Random(seed, 0);
    const { random } = this;
    this.timeline = new Timeline(midnightMs - random.int(0, beforeMidnightMs));
    this.log = new SimulatedLog(this.timeline, (record) => this.judge.published(record));
    this.changes = new Changes(new Random(seed, 1));
    const storeNowMs = (): number => this.timeline.nowMs + this.storeSkewMs;
    const smaller = (source: string): string => source.replace(`> ${shippedMax} then`, `> ${openNamesMax} then`);
    this.masters = Array.from(
      { length: masters },
      (_, i) => new Master(new RedisInMemory(storeNowMs, `M${i}`, smaller)),
    );
    for (const change of this.changes.founding()) this.publish(change);
    this.log.keep(topicNames);
    this.judge.open();
    if (free) for (const tag of tags) this.redisOf(tag).command(['SET', this.keys.fence(tag), '1:0:before:free']);
    for (let i = 0; i < apis; i++) {
      this.apis.push(new ApiProcess(this, `api ${i}`));
      for (let j = 0; j < readersPerApi; j++) this.readers.push(judging(`reader ${j} of api ${i}`, this.judge));
    }
  }

  redisOf(tag: number): RedisInMemory {
    return this.masters[tag % this.masters.length]!.redis;
  }

  readonly calendarNowMs = (): number => this.timeline.nowMs + this.calendarSkewMs;

  readonly say = (message: string): void => {
    this.said.push(`${(this.timeline.nowMs - midnightMs).toFixed(1)} ${message}`);
  };

  struck(name: string, lastsMs = 0, mend: (() => void) | null = null): void {
    if (mend) this.timeline.after(lastsMs, mend);
    this.say(lastsMs > 0 ? `${name}, for ${(lastsMs / 1_000).toFixed(1)} s` : name);
    this.faults.push({ name, fromMs: this.timeline.nowMs, toMs: this.timeline.nowMs + lastsMs });
    // Some last until they mend themselves, however long that takes: so long stalls are there to be told of.
    if (this.random.chance(0.2)) this.goesOn(lastsMs + 300);
    const { [name]: follows } = this.follows;
    delete this.follows[name];
    follows?.();
  }

  /** Happens later, unless peace has come. */
  later(ms: number, happen: () => void): void {
    this.timeline.after(ms, () => {
      if (!this.quiet) happen();
    });
  }

  readOften(fromMs: number, toMs: number): void {
    for (let i = 0; i < 12; i++) this.later(this.random.int(fromMs, toMs), () => this.read());
  }

  readonly pickOne = (channels: readonly string[]): string => this.random.pick(channels);

  publish(change = this.changes.any()): Published {
    return this.log.publish(change);
  }

  /** Starts one more projector. One that ends for a reason that is documented is started again. */
  startProjector(): ProjectorProcess {
    const made = this.#start(this, 'projector', () => {
      this.restarting += 1;
      this.timeline.after(restartMs, () => {
        this.restarting -= 1;
        this.startProjector();
      });
    });
    this.projectors = this.projectors.filter(({ alive }) => alive);
    this.projectors.push(made);
    return made;
  }

  /** Starts a projector with other settings than the others have. Nobody starts it again. */
  startStray(around: Surroundings, name: string): ProjectorProcess {
    const made = this.#start(around, name, () => {});
    this.strays.push(made);
    return made;
  }

  #start(around: Surroundings, kind: string, startAgain: () => void): ProjectorProcess {
    const name = `${kind} ${this.#started.length + 1}`;
    const made = new ProjectorProcess(around, name, (fault) => {
      this.say(`${name} ${fault ? `has failed: ${fault.message}` : 'has stopped'}`);
      if (!fault) return;
      if (this.#mayEnd(made, fault)) startAgain();
      else this.fault ??= new Error(`${name} ended unasked: ${fault.message}`, { cause: fault });
    });
    this.#started.push(made);
    return made;
  }

  /** Only these ends are documented: the log lost records, or a topic was made anew, while the projector ran. */
  #mayEnd({ startedMs }: ProjectorProcess, fault: Error): boolean {
    const { lostMs, anewMs } = this.log;
    if (fault instanceof LogTruncatedError) return lostMs >= startedMs;
    return fault instanceof PartitionsChangedError && anewMs >= startedMs;
  }

  /** A process of Redis that there has not been yet. */
  newProcess(runId: string | null): { runId: string; replicationId: string } {
    this.#processes += 1;
    return { runId: runId ?? `run${this.#processes}`, replicationId: `repl${this.#processes}` };
  }

  restartApi(i: number): void {
    this.apis[i]!.process.kill();
    this.apis[i] = new ApiProcess(this, `api ${i}`);
    for (const reader of this.readersOf(i)) this.#asked.delete(reader);
  }

  readersOf(api: number): Reader[] {
    return this.readers.slice(api * readersPerApi, (api + 1) * readersPerApi);
  }

  /** Some reader asks something. */
  read(asked?: Question): void {
    const i = this.random.int(0, this.apis.length - 1);
    const reader = this.random.pick(this.readersOf(i));
    if (this.#asked.has(reader)) return;
    const api = this.apis[i]!;
    const question = asked ?? (this.random.chance(0.05) ? ownNights : this.random.pick(questions));
    const askedMs = this.calendarNowMs();
    this.#asked.add(reader);
    api.ask(question.path, question.headers, (answer) => {
      if (this.apis[i] !== api) return;
      this.#asked.delete(reader);
      try {
        if (api.faults.length > 0) throw api.faults[0];
        reader(question, answer, [askedMs, this.calendarNowMs()]);
      } catch (cause) {
        this.fault ??= cause as Error;
      }
    });
  }

  /** The world is over. */
  end(): void {
    for (const projector of this.#started) projector.leave();
  }

  /** It goes on at least for so long before all is well. */
  goesOn(ms: number): void {
    this.#untilMs = Math.max(this.#untilMs, this.timeline.nowMs + ms);
  }

  /** Goes on as long as something has asked for. */
  async goOnAsAsked(): Promise<void> {
    while (this.timeline.nowMs < this.#untilMs) await this.goOn(this.#untilMs - this.timeline.nowMs);
  }

  /** Goes on for so long. Throws what should not have happened. */
  async goOn(ms: number): Promise<void> {
    const untilMs = this.timeline.nowMs + ms;
    await this.timeline.goOn(untilMs, () => this.fault !== null);
    if (this.fault) throw this.fault;
  }
}
