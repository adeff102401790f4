import { expect, test } from 'vitest';
import { addressIn, networkOf } from '../../../../api/sign-in/limits/client-address.ts';
import { rateLimit } from '../../../../api/sign-in/limits/rate-limit.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { realClock } from '../../../../projector/running/clock.ts';

test.each([
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['::1', '0:0:0::/48'],
  ['fe80::1%eth0', 'fe80:0:0::/48'],
])('the limits count %s as %s', (address, network) => expect(networkOf(address)).toBe(network));

test.each([
  ['192.0.2.7:1000', '192.0.2.7'],
  ['[2001:db8::1]:5', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['unknown', null],
  ['192.0.2.7:', null],
  ['192.0.2.7:1000:2', null],
])('the address in %j is %j', (text, address) => expect(addressIn(text)).toBe(address));

test('a limit for all together counts what was let through, so one network can’t use it up, and says how long to wait', async () => {
  const store = memorySignInState({ ...realClock, nowMs: () => 0 });
  const limit = rateLimit(store, 'test', { max: 10, allMax: 50, windowSeconds: 60 });
  const passed = async (address: (i: number) => string) => {
    let count = 0;
    for (let i = 0; i < 1000; i++) if ((await limit(address(i))) === null) count++;
    return count;
  };
  expect(await passed(() => '192.0.2.1')).toBe(10);
  expect(await passed((i) => `2001:db8:0:${(i % 256).toString(16)}::1`)).toBe(10);
  expect(await passed((i) => `198.51.100.${i % 250}`)).toBe(30);
  expect(await limit('203.0.113.1')).toBe(60);
});
