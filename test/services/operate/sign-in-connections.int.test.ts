import { afterAll, expect, it } from 'vitest';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { ran } from '../../support/processes/ran.ts';
import { freshKeyPrefix, redisUrl } from '../../support/servers/backends.ts';
import type { SignedIn } from '../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../support/sign-in/sign-in-service.ts';

// docs/tasks.md: end what a client or a rider has. Apps connect over HTTP, to a service on a real Redis.

const keyPrefix = freshKeyPrefix();
const service = await startSignInService({ store: redisSignInState({ url: redisUrl(), keyPrefix }) });
afterAll(() => service.close());
const adas = await service.signedIn('rider-ada');
const bos = await service.signedIn('rider-bo');
const second = await service.signedIn('rider-bo');

async function runs(...args: string[]) {
  const env = { AUTH_REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: keyPrefix };
  const { code, out, err } = await ran(['sign-in', ...args], env);
  return { code, out: [...out, ...err].join('\n') };
}

const list = async (...args: string[]) => JSON.parse((await runs('list', '--json', ...args)).out);
const refreshed = ({ client, tokens }: SignedIn) => service.refresh(client, tokens.refresh_token);
const expectEnded = async (one: SignedIn) =>
  expect(await refreshed(one)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });

it('sign-in list says what is connected by client and time, and names no rider', async () => {
  const { clients, sessions } = await list();
  const ids = [adas, bos, second].map(({ client }) => client.client_id).sort();
  expect(clients.map(({ client }: { client: string }) => client)).toEqual(ids);
  for (const { connections, oldest, newest } of clients) expect([connections, newest]).toEqual([1, oldest]);
  expect(sessions).toBe(3);
  expect((await list('--rider', 'rider-ada')).clients).toMatchObject([{ client: adas.client.client_id }]);
  const ofBo = await list('--rider', 'rider-bo', '--client', bos.client.client_id);
  expect(ofBo).toEqual({ clients: [expect.objectContaining({ client: bos.client.client_id })], sessions: null });
  const { code, out } = await runs('list');
  expect([code, out]).toEqual([0, expect.stringContaining(`${ids[0]}: 1 connection, the oldest of 2`)]);
  expect(out).toContain('Signed in: 3 browsers');
  expect(out).not.toContain('rider-');
});

it('sign-in end ends what all riders gave a client, what one gave it, or all of a rider, and nothing else', async () => {
  const [first, other] = [bos, second].map(({ client }) => client.client_id) as [string, string];
  expect((await runs('end', '--rider', 'rider-ada', '--client', first)).code).toBe(1);
  const ended = 'Ended 1 connection and 0 sessions; access tokens live for up to ten minutes more';
  expect(await runs('end', '--client', first)).toEqual({ code: 0, out: ended });
  await expectEnded(bos);
  expect((await list()).sessions).toBe(3);
  const nothing = 'Nothing of that was connected or signed in';
  expect(await runs('end', '--client', first)).toEqual({ code: 1, out: nothing });
  expect((await refreshed(second)).status).toBe(200);
  expect(await runs('end', '--rider', 'rider-bo', '--client', other)).toEqual({ code: 0, out: ended });
  await expectEnded(second);
  const third = await service.signedIn('rider-bo');
  const { code, out } = await runs('end', '--rider', 'rider-bo', '--json');
  expect([code, JSON.parse(out)]).toEqual([0, { connections: 1, sessions: 3 }]);
  await expectEnded(third);
  expect((await refreshed(adas)).status).toBe(200);
  expect(await list()).toMatchObject({ clients: [{ client: adas.client.client_id }], sessions: 1 });
});
