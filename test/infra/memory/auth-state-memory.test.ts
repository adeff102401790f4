import { expect, test } from 'vitest';
import { memoryAuthState } from '../../../infra/memory/auth-state-memory.ts';
import { authStateContract } from '../../contracts/auth-state.ts';

authStateContract('memory', () => memoryAuthState());

test('state in memory is bounded: what would end soonest makes room', async () => {
  const store = memoryAuthState({ entriesMax: 10 });
  for (let i = 0; i < 10; i++) await store.put('A', `${i}`, {}, { lifeSeconds: 100 + i });
  await store.put('A', 'new', {}, { lifeSeconds: 50 });
  expect(await store.find('A', '0')).toBeNull();
  expect(await store.find('A', '1')).not.toBeNull();
  expect(await store.find('A', 'new')).not.toBeNull();
  await store.close();
});
