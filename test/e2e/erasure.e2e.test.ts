import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { redisSignInState } from '../../infra/redis/sign-in/redis-sign-in-state.ts';
import { gone, rider } from '../reference/example-log.ts';
import { Processes } from '../support/processes/process.ts';
import { freshKeyPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { TestKafka } from '../support/servers/kafka.ts';
import { type RideManagement, startRideManagement } from '../support/sign-in/ride-management.ts';
import { nights, refresh, signedIn } from '../support/sign-in/sign-in-flow.ts';

const processes = new Processes();
const kafka = new TestKafka();
let upstream: RideManagement;
let env: Record<string, string>;
beforeAll(async () => {
  const [port] = await freePorts(1);
  await kafka.createTopics();
  await kafka.publish(rider('r0020'), rider('r0021'));
  upstream = await startRideManagement(`http://127.0.0.1:${port}/oauth/sign-in-callback`);
  env = {
    KAFKA_BROKERS: kafkaBrokers(),
    KAFKA_TOPIC_PREFIX: kafka.topicPrefix,
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
  await kafka[Symbol.asyncDispose]();
  await upstream.stop();
});

test("an erasure in the log destroys the rider's grants and sessions, also once the id is published again", async () => {
  const service = await (await processes.start('start', env)).ready();
  const store = redisSignInState({ url: redisUrl(), keyPrefix: env.REDIS_KEY_PREFIX! });
  const erased = await signedIn(service.origin, 'r0020', upstream);
  const other = await signedIn(service.origin, 'r0021', upstream);
  expect((await nights(service.api, erased.tokens.access_token)).status).toBe(200);
  expect((await store.ofAccount('r0020')).length).toBeGreaterThan(0);

  await kafka.publish(gone('riders', 'r0020'));
  await expect.poll(() => store.ofAccount('r0020')).toEqual([]);
  expect((await nights(service.api, erased.tokens.access_token)).status).toBe(401);
  await kafka.publish(rider('r0020', { handle: 'back' }));
  // The id is a rider again, who can sign in; what the erased one had does not come back.
  await expect
    .poll(() => signedIn(service.origin, 'r0020', upstream).catch(() => null))
    .toMatchObject({ tokens: { scope: 'read' } });
  expect((await refresh(service.origin, erased.client, erased.tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect((await refresh(service.origin, other.client, other.tokens.refresh_token)).status).toBe(200);
  expect((await nights(service.api, other.tokens.access_token)).status).toBe(200);
  await store.close();
  await service.stop();
});
