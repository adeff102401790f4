import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eraseGoneRiders } from '../../../../services/wiring/sign-in/erase-gone-riders.ts';

it('a sweep for erased riders that fails is repeated until it succeeds, and one line says so', async () => {
  const outcomes = [false, false, false, true, true];
  const said: string[] = [];
  let swept = 0;
  const signIn = {
    eraseRider: async () => {},
    sweep: async () => {
      if (!outcomes[swept++]) throw new Error('the views are away');
    },
  };
  let missed = (): void => undefined;
  const cache = {
    load: async () => [],
    onChange: (listener: { allChanged(): void }) => {
      missed = () => listener.allChanged();
    },
  };
  const stop = eraseGoneRiders(cache as never, signIn, { warn: (line: unknown) => void said.push(String(line)) }, 1);
  const sweeps = async (number: number) => {
    for (let looks = 0; swept < number && looks < 1000; looks++) await sleep(1);
    await sleep(0);
  };
  await sweeps(4);
  expect(said).toEqual(['Cannot look for the grants of erased riders, trying again: the views are away']);
  outcomes.splice(4, 1, false, true);
  missed();
  await sweeps(6);
  expect([swept, said.length]).toEqual([6, 2]);
  stop();
});
