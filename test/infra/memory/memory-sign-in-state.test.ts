import { expect, test } from 'vitest';
import { memorySignInState } from '../../../infra/memory/memory-sign-in-state.ts';
import { signInStateContract } from '../../contracts/sign-in-state.ts';

signInStateContract('memory', () => memorySignInState(), 300);

test('sign-ins that strangers begin push out no live code, in memory', async () => {
  const store = memorySignInState();
  await store.put('AuthorizationCode', 'live', {}, { lifeSeconds: 60, account: 'rider-ada' });
  for (let i = 0; i < 60_000; i++) await store.put('Interaction', `${i}`, {}, { lifeSeconds: 900 });
  expect(await store.find('AuthorizationCode', 'live')).not.toBeNull();
  // The oldest of their own kind make room.
  expect(await store.find('Interaction', '0')).toBeNull();
  expect(await store.find('Interaction', '59999')).not.toBeNull();
  await store.close();
});
