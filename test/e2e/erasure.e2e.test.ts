import { expect, test } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { redisSignInState } from '../../infra/redis/sign-in/redis-sign-in-state.ts';
import { gone, rider } from '../reference/example-log.ts';
import { Processes } from '../support/processes/process.ts';
import { freshRedis } from '../support/servers/backends.ts';
import { TestKafka } from '../support/servers/kafka.ts';
import { startRideManagement } from '../support/sign-in/ride-management.ts';
import { flowAt, nights } from '../support/sign-in/sign-in-flow.ts';

test("an erasure in the log destroys the rider's grants and sessions, and nobody else's", async () => {
  await using open = new AsyncDisposableStack();
  const processes = open.use(new Processes());
  const kafka = open.use(new TestKafka());
  const [port] = await freePorts(1);
  await kafka.createTopics();
  await kafka.publish(rider('r0020'), rider('r0021'));
  const callback = `http://127.0.0.1:${port}/oauth/sign-in-callback`;
  const upstream = await startRideManagement(callback);
  const { REDIS_URL: url, REDIS_KEY_PREFIX: keyPrefix } = freshRedis();
  const service = await processes.start('start', {
    ...kafka.env,
    PORT: String(port),
    DATA_DIR: await processes.folder(),
    NOW: '2015-06-13T19:00:00Z',
    AUTH_REDIS_URL: url,
    REDIS_KEY_PREFIX: keyPrefix,
    SIGN_IN_ISSUER: upstream.issuer,
    SIGN_IN_CLIENT_ID: upstream.clientId,
    SIGN_IN_CLIENT_SECRET: upstream.clientSecret,
    OAUTH_REGISTRATION: 'on',
  });
  await service.ready();
  const { refresh, signedIn } = flowAt(service.origin);
  const store = open.adopt(redisSignInState({ url, keyPrefix }), (each) => each.close());
  const erased = await signedIn('r0020', upstream);
  const other = await signedIn('r0021', upstream);
  expect((await nights(service.api, erased.tokens.access_token)).status).toBe(200);
  expect((await store.ofAccount('r0020')).length).toBeGreaterThan(0);

  await kafka.publish(gone('riders', 'r0020'));
  await expect.poll(() => store.ofAccount('r0020')).toEqual([]);
  expect((await nights(service.api, erased.tokens.access_token)).status).toBe(401);
  expect((await refresh(erased.client, erased.tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect((await refresh(other.client, other.tokens.refresh_token)).status).toBe(200);
  expect((await nights(service.api, other.tokens.access_token)).status).toBe(200);
});
