import { expect, test } from 'vitest';
import { networkOf, rateLimit } from '../../../api/oauth/rate-limit.ts';
import { stateInOneWindow } from '../../support/sign-in-service.ts';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['not an address', 'not an address'],
])('a limit counts %s as %s', (address, network) => expect(networkOf(address)).toBe(network));

test('a limit counts the addresses of one IPv6 network together', async () => {
  const store = stateInOneWindow();
  const limit = rateLimit(store, 'test', 2, 60);
  expect(await limit.hit('2001:db8::1')).toBeNull();
  expect(await limit.hit('2001:db8::2')).toBeNull();
  expect(await limit.hit('2001:db8::3')).toBe(60);
  expect(await limit.hit('2001:db8:0:1::1')).toBeNull();
  await store.close();
});
