import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../services/simulate/world/random.ts';
import type { Service } from '../harness/service.ts';
import { type Arena, away, type Fault, type Readied } from './fault.ts';

/** What a crash, a scheduler and an operator do to processes of the service. */

type Choose = (arena: Arena, random: Random) => Service;
const leader: Choose = (arena) => arena.leader();
const standby: Choose = (arena) => arena.standby();
const api: Choose = ({ apis }, random) => random.pick(apis);

/** One process, and what is done to it. */
const of = (name: string, choose: Choose, act: (service: Service, random: Random) => Promise<void>): Fault => ({
  name,
  ready(arena, random): Readied {
    const service = choose(arena, random);
    return { targets: [service.name], run: () => act(service, random) };
  },
});

const kill = (service: Service, random: Random) => away([service], random.int(200, 3_000));
const stop = (service: Service) => away([service], 0, 'stop');

async function pause(service: Service, ms: number): Promise<void> {
  service.signal('SIGSTOP');
  await sleep(ms);
  service.signal('SIGCONT');
  await service.ready();
}

export const processFaults: readonly Fault[] = [
  of('leader killed', leader, kill),
  of('standby killed', standby, kill),
  of('api killed', api, kill),
  of('leader told to stop', leader, stop),
  of('api told to stop', api, stop),
  // Too short for anybody to take over.
  of('leader paused', leader, (service, random) => pause(service, random.int(500, 1_500))),
  // A standby takes over meanwhile: it wakes up as a zombie.
  of('leader paused and deposed', leader, (service, random) => pause(service, random.int(7_000, 10_000))),
  of('standby paused', standby, (service, random) => pause(service, random.int(1_000, 5_000))),
  of('api paused', api, (service, random) => pause(service, random.int(1_000, 5_000))),
];
