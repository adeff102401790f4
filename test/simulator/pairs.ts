/** A fault that struck, and until when it lasted. */
export interface Struck {
  name: string;
  fromMs: number;
  toMs: number;
}

const apartMsMax = 1_000;

/** A pair's name. A fault may strike twice. */
export const pairOf = (one: string, other: string): string => [one, other].sort().join(' + ');

/** All pairs of some faults. */
export const allPairs = <Name extends string>(names: readonly Name[]): [Name, Name][] =>
  names.flatMap((one, i) => names.slice(i).map((other): [Name, Name] => [one, other]));

/** How often two faults overlapped, or came within a second of one another. */
export function metPairs(struck: readonly Struck[]): Record<string, number> {
  const met: Record<string, number> = {};
  for (const [i, one] of struck.entries()) {
    for (const other of struck.slice(i + 1)) {
      const apartMs = Math.max(one.fromMs, other.fromMs) - Math.min(one.toMs, other.toMs);
      if (apartMs <= apartMsMax) addCounts(met, { [pairOf(one.name, other.name)]: 1 });
    }
  }
  return met;
}

export function addCounts(sum: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count;
}
