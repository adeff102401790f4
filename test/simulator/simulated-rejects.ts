import type { Reject, RejectSink } from '../../projector/ports/event-log.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import type { Weather } from './network.ts';
import { placeOf } from './simulated-log.ts';
import type { SimulatedProcess } from './simulated-process.ts';

/** Where bad records are set aside. It may be away, and its acknowledgement may be lost. */
export class SimulatedRejects {
  /** Of those that are set aside. */
  readonly places = new Set<string>();

  adapter(process: SimulatedProcess, random: Random, weather: Weather): RejectSink {
    const faulty = (): void => {
      if (random.chance(weather.unacknowledged)) throw new Error('The topic of bad records cannot be reached');
    };
    return {
      publish: async (rejects) => {
        await process.clock.sleep(random.unit() * 5);
        faulty();
        const added = this.#add(rejects);
        await process.clock.sleep(random.unit() * 5);
        faulty();
        return added;
      },
      close: async () => {},
    };
  }

  #add(rejects: readonly Reject[]): number {
    const before = this.places.size;
    for (const reject of rejects) this.places.add(placeOf(reject));
    return this.places.size - before;
  }
}
