import type { Finding, Line } from './history.ts';
import type { FaultSpans, ProbeVersions, Rise } from './probe-versions.ts';

type Rule = Finding['rule'];

/** In the order of their ends: what was asked after another answer ended is as new, within a limit, and shows each change in time. */
export function checkAnswers(
  answers: readonly Line<'answer'>[],
  probes: ReadonlyMap<string, ProbeVersions>,
  spans: FaultSpans,
  limitMs: number,
): Finding[] {
  const findings: Finding[] = [];
  /** What each reader was told last of each probe, and the body of each ETag. */
  const last = new Map<string, Rise>();
  const hashes = new Map<string, string | null>();

  for (const { status, start, at, line, process, path, etag, hash, shows } of answers) {
    const find = (rule: Rule, says: string, ...lines: number[]) =>
      findings.push({ rule, says: `${process} ${path}: ${status} ${says}`, lines: [...lines, line] });
    if (status === 503 || status === 0) {
      if (!spans.touch(start, at)) find('unanswered', 'without a fault');
      continue;
    }
    if (![200, 401, 404].includes(status)) find('unanswered', 'is no answer of these paths');
    if (etag !== null && (hashes.get(`${path} ${etag}`) ?? hash) !== hash)
      find('bytes', 'has the ETag of another body');
    hashes.set(`${path} ${etag}`, hash);
    for (const [probe, shown] of Object.entries(shows)) {
      const told = (rule: Rule, why: string, ...lines: number[]) =>
        find(rule, `shows ${probe} as ${shown}: ${why}`, ...lines);
      const versions = probes.get(probe);
      const newest = versions?.newest(shown, at);
      if (!versions || !newest) {
        told('never published', 'no record that was sent by then says so');
        continue;
      }
      const reader = `${process} ${path} ${probe}`;
      const back = last.get(reader);
      const older = versions.told.before(start - limitMs);
      const floors: readonly [Rule, Rise | undefined][] = [
        ['back', back],
        ['older', older],
        ['late', versions.due.before(start)],
      ];
      for (const [rule, floor] of floors) {
        if (floor && floor.height > newest.age)
          told(rule, `${floor.height} is known since ${Math.round(start - floor.at)} ms`, floor.line);
      }
      if (newest.lostBy < start)
        told('late', `the log lost it, which had to be seen ${start - newest.lostBy} ms before`);
      const floor = Math.max(back?.height ?? 0, older?.height ?? 0);
      const height = typeof shown === 'number' ? newest.age : versions.oldest(shown, floor);
      last.set(reader, { at, height, line });
      versions.told.add({ at, height, line });
    }
  }
  return findings;
}
