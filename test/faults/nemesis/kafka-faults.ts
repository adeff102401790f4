import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.ts';

/** What happens to Kafka's broker. */

const kafka = (
  name: string,
  run: (arena: Parameters<Fault['ready']>[0], random: Parameters<Fault['ready']>[1]) => Promise<void>,
): Fault => ({
  name,
  ready: (arena, random) => ({ targets: ['kafka'], run: () => run(arena, random) }),
});

export const kafkaFaults: readonly Fault[] = [
  kafka('kafka paused', async ({ broker }, random) => {
    process.kill(broker.pid, 'SIGSTOP');
    await sleep(random.int(1_000, 8_000));
    process.kill(broker.pid, 'SIGCONT');
  }),
  kafka('kafka killed and started', async ({ broker }, random) => {
    await broker.kill();
    await sleep(random.int(0, 3_000));
    await broker.start();
  }),
];
