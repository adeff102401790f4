import type { Finding, Line, Rule } from './history.ts';
import { type FaultSpans, type ProbeVersions, type Rise, Rises, type Shown } from './probe-versions.ts';

export interface AgeLimits {
  /** How much older an answer may be than what somebody else was told before, in ms: without a fault, and in one. */
  calm: number;
  inFaults: number;
  /** When a change must be readable without a fault: docs/performance.md has a hundredth of it, on a quiet machine. */
  readable: number;
}

/** A cache's invalidation may be on its way, and a take-over or repair may be under way. */
export const usualLimits: AgeLimits = { calm: 50, inFaults: 2_000, readable: 2_000 };
/** Where processes wait for a core for seconds. */
export const busyLimits: AgeLimits = { calm: 10_000, inFaults: 10_000, readable: 10_000 };

/** What readers were told of one probe, in the order of the answers' ends. */
class Told {
  readonly #all: Rise[] = [];
  readonly #highest = new Rises();
  readonly byReader = new Map<string, Rise>();

  add(reader: string, rise: Rise): void {
    this.#all.push(rise);
    this.#highest.add(rise);
    this.byReader.set(reader, rise);
  }

  before(at: number): Rise | undefined {
    return this.#highest.before(at);
  }

  /** The last that was told between two times and is newer than this. */
  newerBetween(from: number, to: number, height: number): Rise | undefined {
    if ((this.#highest.last?.height ?? 0) <= height) return undefined;
    for (let i = this.#all.length - 1; i >= 0 && this.#all[i]!.at >= from; i--) {
      if (this.#all[i]!.at < to && this.#all[i]!.height > height) return this.#all[i];
    }
    return undefined;
  }
}

/**
 * Judges answers in the order of their ends: an answer that starts after another one ended must show a version that is as new,
 * within the limits, and each change in time.
 */
export function checkAnswers(
  answers: readonly Line<'answer'>[],
  probes: ReadonlyMap<string, ProbeVersions>,
  spans: FaultSpans,
  limits: AgeLimits,
): Finding[] {
  const findings: Finding[] = [];
  const told = new Map([...probes.keys()].map((probe) => [probe, new Told()]));
  const bodies = new Map<string, Line<'answer'>>();

  const judge = (answer: Line<'answer'>, probe: string, shown: Shown): void => {
    const { process, path, start, at, line, status } = answer;
    const versions = probes.get(probe);
    const newest = versions?.newest(shown, at);
    const find = (rule: Rule, why: string, ...lines: number[]) =>
      findings.push({
        // What was there from the first on, and never went, is not an older version.
        rule: shown === false && newest?.age === 0 ? 'absent' : rule,
        says: `${process} ${path}: ${status} shows ${probe} as ${shown}: ${why}`,
        lines: [...lines, line],
      });
    if (!versions || !newest) return void find('never published', 'no record that was sent by then says so');
    const ofProbe = told.get(probe)!;
    const reader = `${answer.reader} ${process}`;
    const back = ofProbe.byReader.get(reader);
    const older = ofProbe.before(start - limits.inFaults);
    const due = versions.due.before(start);
    const isOlder = (rise: Rise | undefined): rise is Rise => rise !== undefined && rise.height > newest.age;
    const recent = ofProbe.newerBetween(start - limits.inFaults, start - limits.calm, newest.age);
    if (isOlder(back)) find('back', `this reader was told ${back.height} before`, back.line);
    if (isOlder(older)) find('older', `${older.height} was told ${start - older.at} ms before`, older.line);
    else if (recent && !spans.touch(recent.at, at))
      find('older', `${recent.height} was told ${start - recent.at} ms before, without a fault`, recent.line);
    if (isOlder(due)) find('late', `${due.height} had to be readable ${start - due.at} ms before`, due.line);
    if (newest.lostBy < start) find('late', `the log lost it, which had to be seen ${start - newest.lostBy} ms before`);
    const floor = Math.max(back?.height ?? 0, older?.height ?? 0);
    const height = typeof shown === 'number' ? newest.age : versions.oldest(shown, floor);
    ofProbe.add(reader, { at, height, line });
  };

  for (const answer of answers) {
    const { status, start, at, line, process, path, etag, hash, shows } = answer;
    const find = (rule: Rule, says: string, ...lines: number[]) =>
      findings.push({ rule, says: `${process} ${path}: ${status} ${says}`, lines: [...lines, line] });
    if (status === 503 || status === 0) {
      if (!spans.touch(start, at)) find('unanswered', 'without a fault');
      continue;
    }
    if (![200, 304, 401, 404].includes(status)) find('unanswered', 'is no answer of these paths');
    const told = Object.entries(shows);
    if (told.length === 0) find('history', 'shows no probe, so that it cannot be judged');
    if (status > 400 && !Object.values(shows).includes(false)) find('absent', 'though all that it asked for is there');
    for (const [probe, shown] of told) judge(answer, probe, shown);
    const same = etag !== null && bodies.get(`${path} ${etag}`);
    if (same && same.hash !== hash) find('bytes', 'has the ETag of another body', same.line);
    if (etag !== null && !same) bodies.set(`${path} ${etag}`, answer);
  }
  return findings;
}
