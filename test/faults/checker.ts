import type { Finding, Line } from './history.ts';
import { FaultSpans, ProbeVersions, type Rise } from './probe-versions.ts';

/** In so many ms a change is readable without a fault, and what somebody was told anybody is told. */
export const usualLimitMs = 2_000;
/** Where processes wait for a core for seconds. */
export const busyLimitMs = 10_000;

const finding = (rule: Finding['rule'], says: string, line: number): Finding => ({ rule, says, lines: [line] });

/** Judges a history by itself. None: it holds all that test/faults/README.md lists. */
export function checkHistory(lines: readonly Line[], limitMs: number): Finding[] {
  const of = <T extends Line['type']>(type: T) => lines.filter((each) => each.type === type) as Line<T>[];
  if (of('end').length === 0) return [finding('history', 'is cut off: it has no end', lines.length)];
  const spans = new FaultSpans(of('fault'), limitMs);
  const versions = of('publish').filter(({ version }) => version !== null);
  const byProbe = Map.groupBy(versions, ({ version }) => version!.probe);
  const probes = new Map([...byProbe].map(([name, all]) => [name, new ProbeVersions(all, of('lost'), spans)]));
  const shown = new Set(of('answer').flatMap(({ shows }) => Object.keys(shows)));
  return [
    ...[...byProbe]
      .filter(([probe]) => !shown.has(probe))
      .map(([probe, [first]]) => finding('history', `nobody read ${probe}`, first!.line)),
    ...checkAnswers(of('answer'), probes, spans, limitMs),
    // In the end every path is, at every API, what a fresh replay answers, byte for byte.
    ...of('final')
      .filter(({ answered, replay }) => answered !== replay)
      .map(({ process, path, line }) => finding('bytes', `${process} ${path} differs from a fresh replay`, line)),
    ...checkRejects(of('publish'), of('reject'), of('fault')),
    // No process ends unasked, and one that is told to stop ends with code 0.
    ...of('ended')
      .filter(({ asked, code }) => asked === null || (asked === 'stop' && code !== 0))
      .map(({ process, asked, code, line }) =>
        finding('ended', `${process}: ${asked ?? 'unasked'}, code ${code}`, line),
      ),
  ];
}

/** Within this time after it is published, a bad record is set aside, on a busy machine too. */
const sendingMsMax = 2_000;

/** Each is set aside once, and nothing else; perhaps twice by a leader that stopped as it sent it (docs/rules.md#rejected-once). */
function checkRejects(
  publishes: readonly Line<'publish'>[],
  rejects: readonly Line<'reject'>[],
  faults: readonly Line<'fault'>[],
): Finding[] {
  const placeOf = ({ topic, partition, offset }: Line<'reject' | 'publish'>) => `${topic}/${partition}@${offset}`;
  const bad = publishes.filter(({ as }) => as === 'bad');
  const found = Map.groupBy(rejects, placeOf);
  const places = new Set(bad.map(placeOf));
  // One without an acknowledgement may be anywhere.
  const isSure = bad.every(({ offset }) => offset !== null);
  const froze = faults.filter(({ name }) => name === 'leader paused and deposed');
  const isOnItsWay = ({ at }: Line<'publish'>) => froze.some(({ begin }) => at <= begin && begin - at < sendingMsMax);
  const most = (place: string): number =>
    bad.some((each) => (each.offset === null || placeOf(each) === place) && isOnItsWay(each)) ? 2 : 1;
  return [
    ...bad
      .filter((each) => each.offset !== null && !found.has(placeOf(each)))
      .map((each) => finding('rejects', `${placeOf(each)} is bad and was not set aside`, each.line)),
    ...[...found]
      .filter(([place, all]) => all.length > most(place) || (isSure && !places.has(place)))
      .map(([place, all]) => finding('rejects', `${place} is set aside ${all.length} times, or not bad`, all[0]!.line)),
  ];
}

/** In the order of their ends: what was asked after another answer ended is as new, within a limit, and shows each change in time. */
function checkAnswers(
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
    const find = (rule: Finding['rule'], says: string, ...lines: number[]) =>
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
      const told = (rule: Finding['rule'], why: string, ...lines: number[]) =>
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
      const floors: readonly [Finding['rule'], Rise | undefined][] = [
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
