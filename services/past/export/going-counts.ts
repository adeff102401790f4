import { fieldsOfKey } from '../../../schemas/events/record-keys.ts';
import type { Attendance } from '../../../schemas/events/records.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { GroupedLines, type LineGroup } from '../log/grouped-lines.ts';
import { type Column, column } from './parquet-table.ts';
import type { TopicVersion } from './topic-versions.ts';

/** How many riders went to a night (docs/rules.md#going-count), from one instant to the next change. At least one. */
interface GoingCount {
  ride: string;
  /** Whole days since 1970-01-01. */
  day: number;
  fromMs: number;
  /** Null: until the instant of the export. */
  toMs: number | null;
  count: number;
}

export const goingCountColumns: readonly Column[] = [
  column('ride'),
  column('day', 'day'),
  column('valid_from', 'instant'),
  column('valid_to', 'instant'),
  column('count', 'int'),
];

/**
 * Counts over time, without riders, of the versions of `riders` and `attendance`. They are in files: one group of riders, or
 * of nights, is in memory.
 */
export class GoingCounts {
  readonly #lines = new GroupedLines();
  readonly #riders = groups(this.#lines);
  readonly #answers = groups(this.#lines);
  readonly #steps = groups(this.#lines);

  /** Takes a version of a rider, or of what one answered. Others count for nothing. */
  add({ record: { topic, key, value }, fromMs, toMs }: TopicVersion): void {
    if (value === null || (toMs !== null && toMs <= fromMs)) return;
    const until = toMs ?? Number.POSITIVE_INFINITY;
    if (topic === 'riders') this.#add(this.#riders, key, [fromMs, until]);
    if (topic !== 'attendance' || (value as Attendance).response === 'NONE') return;
    const { rider, ride, day } = fieldsOfKey('attendance', key);
    this.#add(this.#answers, rider, [fromMs, until, ride, day]);
  }

  *all(): Generator<GoingCount, void> {
    for (const tag of allTags) {
      const records = Map.groupBy(this.#read(this.#riders, tag), ([rider]) => rider!);
      for (const [rider, from, until, ride, day] of this.#read(this.#answers, tag))
        for (const [, since, end] of records.get(rider!) ?? []) {
          const [first, last] = [Math.max(Number(from), Number(since)), Math.min(Number(until), Number(end))];
          if (first >= last) continue;
          this.#add(this.#steps, ride!, [day!, first, 1]);
          this.#add(this.#steps, ride!, [day!, last, -1]);
        }
    }
    for (const tag of allTags) {
      const nights = Map.groupBy(this.#read(this.#steps, tag), ([ride, day]) => `${ride}/${day}`);
      for (const steps of nights.values()) yield* countsOf(steps);
    }
  }

  close(): void {
    this.#lines.close();
  }

  /** No id has a space (schemas/events/patterns.ts). */
  #add(of: Groups, id: string, cells: (string | number)[]): void {
    this.#lines.add([id, ...cells].join(' '), [of[tagOf(id)]!]);
  }

  *#read(of: Groups, tag: number): Generator<string[], void> {
    for (const line of this.#lines.of(of[tag]!)) yield line.split(' ');
  }
}

type Groups = readonly LineGroup[];
const groups = (lines: GroupedLines): Groups => allTags.map(() => lines.group());

/** The counts of one night, of steps `[ride, day, ms, +1 or -1]` in any order. */
function* countsOf(steps: readonly string[][]): Generator<GoingCount, void> {
  const [ride, day] = steps[0]! as [string, string];
  const changes = new Map<number, number>();
  for (const [, , ms, by] of steps) changes.set(Number(ms), (changes.get(Number(ms)) ?? 0) + Number(by));
  const instants = [...changes].filter(([, by]) => by !== 0).sort(([a], [b]) => a - b);
  let count = 0;
  for (const [i, [fromMs, by]] of instants.entries()) {
    count += by;
    const next = instants[i + 1]?.[0] ?? Number.POSITIVE_INFINITY;
    if (count > 0) yield { ride, day: Number(day), fromMs, toMs: Number.isFinite(next) ? next : null, count };
  }
}
