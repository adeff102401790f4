import { expect, test } from 'vitest';
import { memorySignInState } from '../../../infra/memory/memory-sign-in-state.ts';
import { signInStateContract } from '../../contracts/sign-in-state.ts';

signInStateContract('memory', () => memorySignInState());

test('state in memory is bounded: what would end soonest makes room', async () => {
  const store = memorySignInState({ kindEntriesMax: 10 });
  for (let i = 0; i < 10; i++) await store.put('A', `${i}`, {}, { lifeSeconds: 100 + i });
  await store.put('A', 'new', {}, { lifeSeconds: 50 });
  expect(await store.find('A', '0')).toBeNull();
  expect(await store.find('A', '1')).not.toBeNull();
  expect(await store.find('A', 'new')).not.toBeNull();
  await store.close();
});

test('sign-ins that strangers begin push out no live code, in memory', async () => {
  const store = memorySignInState();
  const code = { lifeSeconds: 60, grant: 'a grant', account: 'rider-ada' };
  await store.put('AuthorizationCode', 'live', {}, code);
  for (let i = 0; i < 60_000; i++) await store.put('Interaction', `${i}`, {}, { lifeSeconds: 900 });
  expect(await store.find('AuthorizationCode', 'live')).not.toBeNull();
  // The oldest of their own kind make room.
  expect(await store.find('Interaction', '0')).toBeNull();
  expect(await store.find('Interaction', '59999')).not.toBeNull();
  await store.close();
});
