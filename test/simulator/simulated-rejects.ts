import { placeOf } from '../../infra/reject-places.ts';
import type { RejectSink } from '../../projector/ports/event-log.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import type { Weather } from './network.ts';
import type { SimulatedProcess } from './simulated-process.ts';

/** Where bad records are set aside. It may be away, and its acknowledgement may be lost. */
export class SimulatedRejects {
  /** Of those that are set aside. */
  readonly places = new Set<string>();
  /** When some were lost, the last time. */
  lostMs = Number.NEGATIVE_INFINITY;
  /** How often. */
  #losses = 0;

  /** The topic is made anew, or a broker loses its tail. */
  lose(count: number, nowMs: number): void {
    this.lostMs = nowMs;
    this.#losses += 1;
    for (const place of [...this.places].slice(-count)) this.places.delete(place);
  }

  adapter(process: SimulatedProcess, random: Random, weather: Weather): RejectSink {
    const faulty = (): void => {
      if (random.chance(weather.unacknowledged)) throw new Error('The topic of bad records cannot be reached');
    };
    let seen: number | null = null;
    return {
      holdsAll: async () => {
        await process.clock.sleep(random.unit() * 5);
        faulty();
        const held = (seen ?? this.#losses) === this.#losses;
        seen = this.#losses;
        return held;
      },
      publish: async (rejects) => {
        await process.clock.sleep(random.unit() * 5);
        faulty();
        seen ??= this.#losses;
        const before = this.places.size;
        for (const reject of rejects) this.places.add(placeOf(reject));
        const added = this.places.size - before;
        await process.clock.sleep(random.unit() * 5);
        faulty();
        return added;
      },
      close: async () => {},
    };
  }
}
