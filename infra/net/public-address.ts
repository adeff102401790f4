import { BlockList, isIP } from 'node:net';

// IANA's special-purpose registries, and multicast: everything that is not public internet.
const reservedRanges = {
  ipv4: `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`,
  ipv6: '2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20',
};
const reserved = new BlockList();
for (const family of ['ipv4', 'ipv6'] as const) {
  for (const range of reservedRanges[family].split(/\s+/)) {
    const [prefix, bits] = range.split('/');
    reserved.addSubnet(prefix!, Number(bits), family);
  }
}

// All of IPv6 that is allocated to the public internet so far.
const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');

/** Whether an IP address is on the public internet: not this machine, its network, or a reserved range. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !reserved.check(address, 'ipv4');
    case 6:
      // IPv4 mapped into IPv6 is outside of 2000::/3.
      return unicast.check(address, 'ipv6') && !reserved.check(address, 'ipv6');
    default:
      return false;
  }
}
