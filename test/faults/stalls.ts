import type { Finding, Line } from './history.ts';
import { stallMs, type Version } from './probe-versions.ts';

/** A time in which a change could not be read, or a reader got only 503. */
export interface Stall {
  what: 'old' | '503';
  /** That was asked last. */
  process: string;
  from: number;
  /** When the last answer of it began, and when it was there. */
  lastStart: number;
  to: number;
  lines: [first: number, last: number];
}

/** The stalls of over 5 s that answers showed. */
export class Stalls {
  readonly #old = new Map<Version, Stall>();
  readonly #unanswered = new Map<string, Stall>();
  readonly #ended: Stall[] = [];

  /** An answer did not show a version, 5 s after it was published. */
  old(version: Version, { process, start, at, line }: Line<'answer'>): void {
    this.#old.set(version, {
      ...{ what: 'old', process, from: version.at, lastStart: start, to: at, lines: [version.line, line] },
    });
  }

  answered({ reader, process, status, start, at, line }: Line<'answer'>): void {
    const name = `${reader} ${process}`;
    const stall = this.#unanswered.get(name);
    if (status === 503) {
      const first = stall ?? { from: start, lines: [line, line] as const };
      const lines: Stall['lines'] = [first.lines[0], line];
      this.#unanswered.set(name, { what: '503', process, from: first.from, lastStart: start, to: at, lines });
    } else if (stall) {
      this.#ended.push(stall);
      this.#unanswered.delete(name);
    }
  }

  get all(): Stall[] {
    const unanswered = [...this.#ended, ...this.#unanswered.values()].filter(({ from, to }) => to - from > stallMs);
    return [...this.#old.values(), ...unanswered];
  }
}

/** The values of a metric's series, with these labels. */
const valuesOf = (values: Record<string, number>, metric: string, label = ''): number[] =>
  Object.entries(values)
    .filter(([series]) => series.split('{')[0] === `ride_calendar_${metric}` && series.includes(label))
    .map(([, value]) => value);

const any = (values: Record<string, number>, metric: string, is: (value: number) => boolean): boolean =>
  valuesOf(values, metric).some(is);

const saysStalled = (values: Record<string, number>): boolean =>
  any(values, 'unreadable_age_seconds', (age) => age >= 1) ||
  any(values, 'waiting_seconds', (age) => age > 0) ||
  any(values, 'store_parts_in_repair', (tags) => tags > 0) ||
  any(values, 'projector_ready', (is) => is === 0) ||
  any(values, 'store_answers', (is) => is === 0);

// An answer may be as old as a half-open connection to Redis leaves it, though the projector wrote the change.
const oldAnswerMs = 2_000;

/** In every stall some process tells of it, and no metric that was made to tell of it says well. */
export function checkTellings(
  stalls: readonly Stall[],
  {
    readies,
    notes,
    scrapes,
  }: { readies: readonly Line<'ready'>[]; notes: readonly Line<'note'>[]; scrapes: readonly Line<'metrics'>[] },
  firstFaultMs: number,
): Finding[] {
  // What a process says while all is well tells of no stall.
  const standing = new Set(
    readies.filter(({ at, status }) => at < firstFaultMs && status === 200).map(({ text }) => text),
  );
  const tellings = [
    ...readies.filter(({ status, text }) => status !== 200 || (text !== '' && !standing.has(text))),
    ...notes,
    ...scrapes.filter(({ values }) => values === null || saysStalled(values)),
  ];
  return stalls.flatMap((stall): Finding[] => {
    const { what, process, from, lastStart, to, lines } = stall;
    const says = `${process} ${what === 'old' ? 'did not show a change' : 'answered 503'} for ${Math.round(to - from)} ms`;
    const isTold = tellings.some(({ at }) => at >= from && at <= to);
    const well = scrapes.filter(({ at, values, ...each }) => {
      if (values === null || at < from + stallMs) return false;
      if (what === '503')
        return at <= lastStart && each.process === process && any(values, 'store_answers', (is) => is === 1);
      const leads = valuesOf(values, 'role', 'role="leader"').includes(1);
      return leads && at <= lastStart - oldAnswerMs && !any(values, 'unreadable_age_seconds', (age) => age >= 1);
    });
    // A leader that was deposed while it was frozen may say well until it knows.
    const isSaidElsewhere = (each: Line<'metrics'>): boolean =>
      what === 'old' &&
      scrapes.some(
        ({ at, values }) =>
          Math.abs(at - each.at) <= oldAnswerMs && values && any(values, 'unreadable_age_seconds', (age) => age >= 1),
      );
    const lying = well.find((each) => !isSaidElsewhere(each));
    return [
      ...(isTold ? [] : [{ rule: 'silent' as const, says: `${says}, and no process told of it`, lines }]),
      ...(lying
        ? [
            {
              rule: 'says well' as const,
              says: `${says}, and ${lying.process}'s metrics said well`,
              lines: [...lines, lying.line],
            },
          ]
        : []),
    ];
  });
}
