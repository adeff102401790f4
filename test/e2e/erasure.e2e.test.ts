import { cp } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { ArchiveWriter } from '../../infra/archive/archive-writer.ts';
import { freePorts } from '../../infra/local/free-port.ts';
import { redisAuthState } from '../../infra/redis/auth-state-redis.ts';
import { freshKeyPrefix, redisUrl } from '../support/backends.ts';
import { portlandDirectory } from '../support/portland.ts';
import { Processes } from '../support/process.ts';
import { approve, authorizeUrl, nights, refresh, signedIn } from '../support/sign-in-flow.ts';
import { newPkce, TestBrowser } from '../support/test-browser.ts';

const processes = new Processes();
afterAll(() => processes.close());

test("an erasure in the log destroys the rider's grants and sessions, also once the id is published again", async () => {
  const dir = await processes.folder();
  await cp(portlandDirectory, dir, { recursive: true });
  const keyPrefix = freshKeyPrefix();
  const port = String((await freePorts(1))[0]);
  const env = {
    PORT: port,
    DATA_DIR: await processes.folder(),
    ARCHIVE_DIR: dir,
    SIGN_IN: 'pick',
    NOW: '2015-06-13T19:00:00Z',
    AUTH_REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: keyPrefix,
  };
  let service = await processes.start('start', env);
  await service.ready();
  const store = redisAuthState({ url: redisUrl(), keyPrefix });
  const gone = await signedIn(service.origin, 'r0020');
  const other = await signedIn(service.origin, 'r0021');
  expect((await nights(service.api, gone.tokens.access_token)).status).toBe(200);
  expect((await store.ofAccount('r0020')).length).toBeGreaterThan(0);

  const writer = new ArchiveWriter({ dir });
  const publish = (value: object | null): void => {
    const offset = writer.nextOffset('riders', 0)!;
    writer.append('riders', { partition: 0, offset, timestampMs: Date.now(), key: 'r0020', value: value as never });
    writer.flush();
  };
  publish(null);
  await expect.poll(() => store.ofAccount('r0020'), { timeout: 20_000 }).toEqual([]);
  expect((await nights(service.api, gone.tokens.access_token)).status).toBe(401);
  publish({ rider: 'r0020', handle: 'back', name: null, revision: 99, changed_at: 99 });
  // The id is a rider again, who can sign in; what the erased one had does not come back.
  await expect
    .poll(() => signedIn(service.origin, 'r0020').catch(() => null), { timeout: 20_000 })
    .toMatchObject({ tokens: { scope: 'read' } });
  expect((await nights(service.api, gone.tokens.access_token)).status).toBe(401);
  expect((await refresh(service.origin, gone.client, gone.tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect((await refresh(service.origin, other.client, other.tokens.refresh_token)).status).toBe(200);
  await writer.close();
  await service.kill();
  service = await processes.start('start', env);
  await service.ready();
  expect((await nights(service.api, gone.tokens.access_token)).status).toBe(401);
  expect((await nights(service.api, other.tokens.access_token)).status).toBe(200);
  await store.close();
  await service.stop();
});

// docs/rules.md#republished-rider
test('an erasure that is undone in one flush, or while nothing runs, ends nothing', async () => {
  const dir = await processes.folder();
  await cp(portlandDirectory, dir, { recursive: true });
  const env = {
    PORT: String((await freePorts(1))[0]),
    DATA_DIR: await processes.folder(),
    ARCHIVE_DIR: dir,
    SIGN_IN: 'pick',
    NOW: '2015-06-13T19:00:00Z',
    AUTH_REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
  };
  let service = await processes.start('start', env);
  await service.ready();
  const { client, tokens: first } = await signedIn(service.origin, 'r0022');
  let tokens = first;
  const writer = new ArchiveWriter({ dir });
  const undone = (handle: string): void => {
    for (const value of [null, { rider: 'r0022', handle, name: null, revision: 99, changed_at: 99 }]) {
      const offset = writer.nextOffset('riders', 0)!;
      writer.append('riders', { partition: 0, offset, timestampMs: Date.now(), key: 'r0022', value: value as never });
    }
    writer.flush();
  };
  const stillThere = async (): Promise<void> => {
    expect((await nights(service.api, tokens.access_token)).status).toBe(200);
    const refreshed = await refresh(service.origin, client, tokens.refresh_token);
    expect(refreshed.status).toBe(200);
    tokens = refreshed.body;
  };
  const browser = new TestBrowser(service.origin);
  await approve(browser, authorizeUrl(service.origin, client, newPkce()), 'r0022');
  const shows = async (handle: string): Promise<void> => {
    const page = async () => (await browser.open(`${service.origin}/oauth/connected-apps`)).page;
    await expect.poll(page, { timeout: 20_000 }).toContain(handle);
  };

  undone('back-at-once');
  await shows('back-at-once');
  await stillThere();
  await service.kill();
  undone('back-while-away');
  service = await processes.start('start', env);
  await service.ready();
  await shows('back-while-away');
  await stillThere();
  await writer.close();
  await service.stop();
});
