import { setTimeout as sleep } from 'node:timers/promises';
import { riderTokens } from '../../support/sign-in/rider-tokens.ts';
import { reader } from '../harness/probes.ts';
import { tell } from '../harness/stores.ts';
import { type Arena, away, type Fault, freeze } from './fault.ts';

/** Faults that last long enough for an alert: its condition, then the time that its rule waits, then two scrapes. */

const long = (alert: string, name: string, targets: string[], run: (arena: Arena) => Promise<void>): Fault => ({
  name,
  alert,
  ready: (arena) => ({ targets, run: () => run(arena) }),
});

const forMinutes = (minutes: number): Promise<void> => sleep(minutes * 60_000 + 25_000);

/** One after the other. */
export const alertFaults: readonly Fault[] = [
  long('ChangeNotReadable', 'kafka paused for long', ['kafka'], ({ broker }) => freeze([broker], 85_000)),
  long('ProcessDown', 'api away for long', ['api-1'], ({ apis }) => away(apis.slice(0, 1), 85_000)),
  long('NobodyAnswers', 'every api away', ['api-1', 'api-2'], ({ apis }) => away(apis, 55_000)),
  long('ReadsUnavailable', 'redis away for long', ['redis'], ({ stores: { masters } }) => {
    const servers = masters.map(({ server }) => server);
    return freeze(servers, 60_000);
  }),
  long('RedisTakesNoWrites', 'redis full for long', ['redis'], async ({ stores }) => {
    for (const { server } of stores.masters) await tell(server, (redis) => redis.config('SET', 'maxmemory', '1mb'));
    await sleep(85_000);
    for (const { server } of stores.masters) await tell(server, (redis) => redis.config('SET', 'maxmemory', '0'));
  }),
  long('SignInUnavailable', "sign-in's redis paused for long", ['auth-redis'], ({ authRedis }) =>
    freeze([authRedis], 60_000),
  ),
  long('UnknownKeyUsed', 'tokens of an unknown key', ['api-1'], async ({ apis, processes }) => {
    const token = (await (await riderTokens(await processes.folder())).of(reader)).get(reader)!;
    for (let i = 0; i < 20; i++) {
      await apis[0]!.get('/api/me/nights', { Authorization: `Bearer ${token}` });
      await sleep(500);
    }
    await sleep(10_000);
  }),
  long('NobodyLeads', 'every projector away', ['projector-1', 'projector-2'], ({ projectors }) =>
    away(projectors, 55_000),
  ),
];

/** Together, and without any other: their rules wait for minutes, and a process that is away would begin that time anew. */
export const patientAlertFaults: readonly Fault[] = [
  long('UnresolvedRejects', 'bad record without a good one after it', ['log'], async ({ publisher }) => {
    await publisher.publishBad('unresolved');
    await forMinutes(5);
    await publisher.publish('rides', 'unresolved', null);
  }),
  long('SignInStateAtRisk', "sign-in's redis without its file", ['file of auth-redis'], async ({ authRedis }) => {
    await tell(authRedis, (redis) => redis.config('SET', 'appendonly', 'no'));
    await forMinutes(5);
    await tell(authRedis, (redis) => redis.config('SET', 'appendonly', 'yes'));
  }),
  long('NoStandby', 'standby away for long', ['standby'], async (arena) => {
    const standby = arena.standby();
    await standby.retire();
    await forMinutes(10);
    await standby.start();
    await standby.ready();
  }),
  long('DifferencesFound', 'view changed by somebody else', ['view'], async (arena) => {
    // Of a ride that no reader asks for. The background check comes by within eleven minutes, on a quiet machine.
    const changed = arena.stores.masters.map(({ server }) =>
      tell(server, async (redis) => {
        const [found] = await redis.keys('*:ride:pp15r4935');
        if (found) await redis.set(found, 'something else');
        return found;
      }),
    );
    if (!(await Promise.all(changed)).some(Boolean)) throw new Error('No such view.');
    for (const end = performance.now() + 20 * 60_000; performance.now() < end; await sleep(1_000)) {
      const { body } = await arena.leader().get('/metrics');
      if (/^ride_calendar_faulty_views_total\{kind="ride"\} [1-9]/m.test(body)) return sleep(10_000);
    }
    throw new Error('The background check found nothing.');
  }),
];
