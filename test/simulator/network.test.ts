import { expect, it } from 'vitest';
import { Random } from '../../services/simulate/world/random.ts';
import { Connection, fairWeather, Master } from './network.ts';
import { RedisInMemory } from './redis-in-memory.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { Timeline } from './timeline.ts';

it('what is sent over a connection made again is answered, though what was sent over the one before is still on its way', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const timeline = new Timeline(0);
    const [master, weather] = [new Master(new RedisInMemory(() => timeline.nowMs)), fairWeather()];
    const process = new SimulatedProcess(timeline, 'process');
    const random = new Random(seed, 0);
    const connection = new Connection({ timeline, random, weather, process, master, name: 'redis' });
    const goOn = (ms: number): Promise<void> => timeline.goOn(timeline.nowMs + ms, () => false);
    await goOn(200);
    weather.slow = 1;
    const lost = connection.send(() => 'lost').catch(() => 'broken');
    weather.slow = 0;
    connection.breakOff();
    // It is heard, and another connection is made.
    for (let ms = 0; ms < 120; ms++) {
      await goOn(1);
      if (connection.ready && ms > 3) break;
    }
    weather.slow = 1;
    let answer: unknown = null;
    void connection
      .send(() => 'answered')
      .then((reply) => {
        answer = reply;
      })
      .catch(() => {});
    await goOn(1_000);
    expect([await lost, answer]).toEqual(['broken', 'answered']);
  }
});
