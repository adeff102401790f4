import { isIPv4, isIPv6 } from 'node:net';

/**
 * The networks that an address belongs to, narrowest first. For IPv6 its /64, /56 and /48: a subscriber has one of
 * these, and so at least 2^64 addresses. For IPv4 the address itself. IPv4 mapped into IPv6 is the IPv4 address.
 */
export function networksOf(address: string): string[] {
  if (!isIPv6(address)) return [address];
  const mapped = address.replace(/^::ffff:/i, '');
  if (isIPv4(mapped)) return [mapped];
  const [a, b, c, d] = firstGroups(address) as [number, number, number, number];
  const network = (groups: number[], bits: number): string =>
    `${groups.map((group) => group.toString(16)).join(':')}::/${bits}`;
  return [network([a, b, c, d], 64), network([a, b, c, d & 0xff00], 56), network([a, b, c], 48)];
}

/** The first four of an IPv6 address's eight groups. */
function firstGroups(address: string): number[] {
  const [before, after] = address.split('::') as [string, string?];
  const groups = before === '' ? [] : before.split(':').map((group) => Number.parseInt(group, 16));
  if (after === undefined) return groups.slice(0, 4);
  const rest = after === '' ? [] : after.split(':');
  // An IPv4 address at the end takes the place of two groups.
  const restLength = rest.length + (rest.at(-1)?.includes('.') ? 1 : 0);
  while (groups.length < 8 - restLength) groups.push(0);
  return [...groups, ...rest.map((group) => Number.parseInt(group, 16))].slice(0, 4);
}
