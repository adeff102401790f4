import { expect, test } from 'vitest';
import { addGrants, type Connected, grantsOf } from '../../../../api/sign-in/provider/grants.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';

test('of an app’s grants the oldest, the newest and the latest end count, in whatever order they are found', () => {
  const apps = new Map<string, Connected>();
  for (const iat of [20, 10, 30, 25])
    addGrants(apps, [{ kind: 'Grant', id: `${iat}`, payload: { clientId: 'app', iat, exp: iat + 60 } }]);
  const times = { oldestMs: 10_000, newestMs: 30_000, untilMs: 90_000 };
  expect([...apps.values()]).toEqual([{ client: 'app', connections: 4, ...times }]);
});

test('a rider’s apps are in the order of their names', async () => {
  const store = memorySignInState();
  for (const clientId of ['Zürich', 'änder', 'Bike'])
    await store.put('Grant', clientId, { clientId, iat: 1, exp: 2 }, { lifeSeconds: 60, account: 'rider-ada' });
  const { apps } = grantsOf(store, async (client) => client);
  expect((await apps('rider-ada')).map(({ name }) => name)).toEqual(['änder', 'Bike', 'Zürich']);
});
