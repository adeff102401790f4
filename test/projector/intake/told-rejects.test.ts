import { expect, it } from 'vitest';
import { tellRejects } from '../../../projector/intake/told-rejects.ts';
import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

// docs/rules.md#rejected
it('bad records are told in a line a second at most, and how many it leaves out', async () => {
  const { lines, clock, ...deps } = sharedDeps();
  let second = Promise.withResolvers<void>();
  clock.sleep = () => second.promise;
  const told = tellRejects({ clock, ...deps });
  const tell = (offset: number) => told({ topic: 'nights', partition: 3, offset } as EncodedRecord, 'no key');
  const passes = async () => {
    const { resolve } = second;
    second = Promise.withResolvers();
    resolve();
    await Promise.resolve();
    return lines.splice(0);
  };
  tell(1);
  expect(await passes()).toEqual(['Rejected record at nights/3@1: no key']);
  for (const offset of [2, 3, 4, 7]) tell(offset);
  expect(await passes()).toEqual([
    'Rejected record at nights/3@2: no key',
    'Rejected record at nights/3@7: no key (and 2 more since the last line)',
  ]);
  tell(8);
  expect(lines).toEqual([]);
  expect(await passes()).toEqual(['Rejected record at nights/3@8: no key']);
  expect(await passes()).toEqual([]);
  tell(9);
  expect(lines).toEqual(['Rejected record at nights/3@9: no key']);
});
