import { expect, test } from 'vitest';
import { networkOf } from '../../../../api/sign-in/limits/client-address.ts';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['2001:0db8:0001:0002::', '2001:db8:1::/48'],
  ['2001:db8::6', '2001:db8:0::/48'],
  ['2001:db8:0:0:1::', '2001:db8:0::/48'],
  ['::1', '0:0:0::/48'],
  ['::2:3:4:5:6:7', '0:0:2::/48'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0::/48'],
  ['1:2:3:4:5:6:192.0.2.7', '1:2:3::/48'],
  ['fe80::1%eth0', 'fe80:0:0::/48'],
  ['not an address', 'not an address'],
])('a limit counts %s as %s', (address, network) => expect(networkOf(address)).toBe(network));
