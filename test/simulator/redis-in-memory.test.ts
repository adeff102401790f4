import { setTimeout as sleep } from 'node:timers/promises';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { Random } from '../../services/simulate/world/random.ts';
import { leadershipContract } from '../contracts/leadership.ts';
import { type ViewStoreFixture, viewStoreContract } from '../contracts/view-store.ts';
import { fairWeather, Master } from './network.ts';
import { ApiProcess, type Surroundings, simulatedWriter, thisFormat } from './processes.ts';
import { RedisInMemory } from './redis-in-memory.ts';
import { SimulatedLog } from './simulated-log.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { SimulatedRejects } from './simulated-rejects.ts';
import { Timeline } from './timeline.ts';

/** Simulated processes and a simulated Redis, whose time goes with the real one. */
async function fixture(masterCount: number): Promise<ViewStoreFixture> {
  const timeline = new Timeline(Date.now());
  let over = false;
  const goOn = async (): Promise<void> => {
    while (!over) {
      await timeline.stepUntil(Date.now());
      if (timeline.nowMs >= Date.now() - 1) await sleep(1);
    }
  };
  const going = goOn();
  const masters = Array.from(
    { length: masterCount },
    (_, i) => new Master(new RedisInMemory(() => Date.now(), `M${i}`)),
  );
  const around: Surroundings = {
    timeline,
    random: new Random(1, 0),
    weather: fairWeather(),
    masters,
    log: new SimulatedLog(timeline),
    rejects: new SimulatedRejects(),
    keys: redisKeys('', thisFormat),
    tags: allTags,
    calendarNowMs: Date.now,
    say() {},
  };
  let made = 0;
  return {
    async writer() {
      const writer = simulatedWriter(around, new SimulatedProcess(timeline, `writer ${++made}`));
      // Until it is connected.
      while (!(await writer.leadership!.look([0]).catch(() => null))) await sleep(5);
      return writer;
    },
    reader: () => new ApiProcess(around, `reader ${++made}`).reader,
    empty: async () => {
      for (const { redis } of masters) redis.empty();
    },
    async close() {
      over = true;
      await going;
    },
  };
}

// The simulator's Redis keeps the promises that a real one keeps.
viewStoreContract("the simulator's Redis", () => fixture(1));
viewStoreContract("the simulator's Redis Cluster", () => fixture(3));
leadershipContract("the simulator's Redis", () => fixture(1));
leadershipContract("the simulator's Redis Cluster", () => fixture(3));
