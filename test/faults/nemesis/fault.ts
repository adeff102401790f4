import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaBroker } from '../../../infra/local/kafka-broker.ts';
import type { RedisServer } from '../../../infra/local/redis-server.ts';
import type { Random } from '../../../services/simulate/world/random.ts';
import type { Env, Processes } from '../../support/processes/process.ts';
import type { SteppedClock } from '../../support/processes/stepped-clock.ts';
import type { PortlandInKafka } from '../../support/worlds/portland-in-kafka.ts';
import type { HistoryWriter } from '../harness/history-writer.ts';
import type { Publisher } from '../harness/publisher.ts';
import type { Service } from '../harness/service.ts';
import type { Stores } from '../harness/stores.ts';

/** What a nemesis may reach. */
export interface Arena {
  history: HistoryWriter;
  processes: Processes;
  /** The next version, with another view format. */
  next(): Promise<Processes>;
  /** As each process of the service is told of Kafka. */
  kafkaEnv: Env;
  broker: KafkaBroker;
  stores: Stores;
  /** Sign-in's. */
  authRedis: RedisServer;
  /** What was in the log at the start. */
  portland: PortlandInKafka;
  projectors: readonly Service[];
  apis: readonly Service[];
  /** Of the next version, beside the others during an upgrade. */
  nextProjectors: readonly Service[];
  /** By the name of the process. None without faketime. */
  clocks: ReadonlyMap<string, SteppedClock>;
  publisher: Publisher;
  /** The one that leads, as far as is known, or else any. */
  leader(): Service;
  standby(): Service;
}

/** A fault that has its targets. */
export interface Readied {
  /** Names of processes and servers. Faults of one target follow one another; they never overlap. */
  targets: string[];
  /** Does it, and undoes it. Resolves once what it broke is up again. */
  run(): Promise<void>;
}

export interface Fault {
  name: string;
  /** Whether these servers can have it. */
  isPossible?(arena: Arena): boolean;
  ready(arena: Arena, random: Random): Readied;
}

/** Servers stand still for some time. */
export async function freeze(servers: readonly { pid: number }[], ms: number): Promise<void> {
  for (const { pid } of servers) process.kill(pid, 'SIGSTOP');
  await sleep(ms);
  for (const { pid } of servers) process.kill(pid, 'SIGCONT');
}

/** Services are away for some time, and then ready again. */
export async function away(services: readonly Service[], ms: number, asked: 'kill' | 'stop' = 'kill'): Promise<void> {
  for (const service of services) await service.end(asked);
  await sleep(ms);
  for (const service of services) await service.start();
  for (const service of services) await service.ready();
}
