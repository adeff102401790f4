import type { AnyRecord } from '../../schemas/events/records.ts';
import { type Change, type EntityName, entityName } from './world.ts';

/** A reader was told something that the rules exclude. */
export class Misled extends Error {
  override name = 'Misled';
}

/** Something that an answer tells, with the entities that decide it. */
export interface Observed {
  what: string;
  depends: readonly EntityName[];
  /** What the answer tells if these are the entities' records; null: absent. */
  show(records: readonly (AnyRecord | null)[]): Told;
  /** What it told. */
  shown: Told;
}

type Told = string | boolean | null;

interface Version {
  change: Change | null;
  /** Later versions have higher ones. A version that was lost counts as the one before it. */
  age: number;
  lost: boolean;
}

/** For each entity that something depends on, which version. */
type Cut = readonly Version[];

/**
 * Knows all that was ever published, and all that each reader was told. Every answer must be explained by some versions of
 * what it shows, none of them older than those that explain what the same reader was told before. So nobody goes back,
 * and what is said to be absent was absent at some moment since.
 */
export class Judge {
  readonly #versions = new Map<EntityName, Version[]>();
  /** For each reader and what they observed: the oldest cuts that explain it. */
  readonly #explained = new Map<string, { shown: Told; cuts: Cut[] }>();
  /** The versions before any reader came. */
  #founding: ReadonlyMap<EntityName, number> = new Map();

  published(change: Change): void {
    if (change.bad) return;
    const versions = this.#of(entityName(change));
    versions.push({ change, age: versions.length, lost: false });
  }

  /** From now on readers come. What was published before must not be absent. */
  open(): void {
    this.#founding = new Map([...this.#versions].map(([name, versions]) => [name, versions.length - 1]));
  }

  /** Records were cut off: readers may see them until it is noticed, and then what was before them. */
  lost(changes: readonly Change[]): void {
    const lost = new Set(changes);
    for (const change of changes.filter(({ bad }) => !bad)) {
      let age = 0;
      for (const [i, version] of this.#of(entityName(change)).entries()) {
        version.lost ||= version.change !== null && lost.has(version.change);
        if (!version.lost) age = i;
        version.age = age;
      }
    }
  }

  told(reader: string, { what, depends, show, shown }: Observed): void {
    const name = `${reader} ${what}`;
    const before = this.#explained.get(name);
    if (before?.shown === shown) return;
    const histories = depends.map((each) => this.#of(each));
    const floors = before?.cuts ?? [depends.map((each, i) => histories[i]![this.#founding.get(each) ?? 0]!)];
    const explains = (cut: Cut): boolean => show(cut.map(({ change }) => change?.value ?? null)) === shown;
    const recent = histories.map((versions, i) => {
      const least = Math.min(...floors.map((floor) => floor[i]!.age));
      return versions.filter(({ age }) => age >= least);
    });
    const isRecent = (cut: Cut): boolean => floors.some((floor) => isNoOlder(cut, floor));
    const cuts = [...cutsOf(recent)].filter((cut) => explains(cut) && isRecent(cut));
    if (cuts.length === 0) {
      const isOld = [...cutsOf(histories)].some(explains);
      const why = isOld ? 'was told something older than before' : 'was told what never was';
      const then = before ? `${JSON.stringify(before.shown)} before` : 'nothing before';
      throw new Misled(`${reader} ${why}: ${what} is ${JSON.stringify(shown)}, ${then}`);
    }
    this.#explained.set(name, { shown, cuts: oldestOf(cuts) });
  }

  #of(name: EntityName): Version[] {
    if (!this.#versions.has(name)) this.#versions.set(name, [{ change: null, age: 0, lost: false }]);
    return this.#versions.get(name)!;
  }
}

const isNoOlder = (cut: Cut, floor: Cut): boolean => cut.every(({ age }, i) => age >= floor[i]!.age);

/** Those that none of the others is older than. */
function oldestOf(cuts: readonly Cut[]): Cut[] {
  const oldest: Cut[] = [];
  for (const cut of cuts) {
    if (oldest.some((each) => isNoOlder(cut, each))) continue;
    const newer = oldest.filter((each) => isNoOlder(each, cut));
    for (const each of newer) oldest.splice(oldest.indexOf(each), 1);
    oldest.push(cut);
  }
  return oldest;
}

/** Every combination of versions. */
function* cutsOf(histories: readonly (readonly Version[])[]): Generator<Cut> {
  const [first, ...rest] = histories;
  if (!first) return yield [];
  for (const cut of cutsOf(rest)) for (const version of first) yield [version, ...cut];
}
