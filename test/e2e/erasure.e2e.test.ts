import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { redisSignInState } from '../../infra/redis/sign-in/redis-sign-in-state.ts';
import type { Rider } from '../../schemas/events/records.ts';
import { Processes } from '../support/processes/process.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { type RideManagement, startRideManagement } from '../support/sign-in/ride-management.ts';
import { nights, refresh, signedIn } from '../support/sign-in/sign-in-flow.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';

const processes = new Processes();
let portland: PortlandInKafka;
let upstream: RideManagement;
let env: Record<string, string>;
beforeAll(async () => {
  const [port] = await freePorts(1);
  portland = await PortlandInKafka.load();
  upstream = await startRideManagement({ redirectUri: `http://127.0.0.1:${port}/oauth/sign-in-callback` });
  env = {
    ...portland.env,
    PORT: String(port),
    DATA_DIR: await processes.folder(),
    NOW: '2015-06-13T19:00:00Z',
    AUTH_REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
    SIGN_IN_ISSUER: upstream.issuer,
    SIGN_IN_CLIENT_ID: upstream.clientId,
    SIGN_IN_CLIENT_SECRET: upstream.clientSecret,
    OAUTH_REGISTRATION: 'on',
  };
});
afterAll(async () => {
  await processes.close();
  await portland.close();
  await upstream.stop();
});

test("an erasure in the log destroys the rider's grants and sessions, also once the id is published again", async () => {
  let service = await processes.start('start', env);
  await service.ready();
  const store = redisSignInState({ url: redisUrl(), keyPrefix: env.REDIS_KEY_PREFIX! });
  const gone = await signedIn(service.origin, 'r0020', upstream);
  const other = await signedIn(service.origin, 'r0021', upstream);
  expect((await nights(service.api, gone.tokens.access_token)).status).toBe(200);
  expect((await store.ofAccount('r0020')).length).toBeGreaterThan(0);

  const publish = (value: Rider | null) => portland.publish('riders', { key: 'r0020', value });
  await publish(null);
  await expect.poll(() => store.ofAccount('r0020'), { timeout: 20_000 }).toEqual([]);
  expect((await nights(service.api, gone.tokens.access_token)).status).toBe(401);
  await publish({ rider: 'r0020', handle: 'back', name: null, revision: 99, changed_at: 99 });
  // The id is a rider again, who can sign in; what the erased one had does not come back.
  await expect
    .poll(() => signedIn(service.origin, 'r0020', upstream).catch(() => null), { timeout: 20_000 })
    .toMatchObject({ tokens: { scope: 'read' } });
  expect((await refresh(service.origin, gone.client, gone.tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect((await refresh(service.origin, other.client, other.tokens.refresh_token)).status).toBe(200);
  await service.kill();
  service = await processes.start('start', env);
  await service.ready();
  expect((await refresh(service.origin, gone.client, gone.tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect((await nights(service.api, other.tokens.access_token)).status).toBe(200);
  await store.close();
  await service.stop();
});
