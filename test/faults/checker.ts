import { checkAnswers, usualLimits } from './check-answers.ts';
import type { Finding, HistoryEvent, Line, Rule } from './history.ts';
import { FaultSpans, type ProbeVersions, probeVersions } from './probe-versions.ts';

/** The events of one type, in the order of their times. */
type Events = { [T in HistoryEvent['type']]: Line<T>[] };

const none: Events = {
  ...{ begin: [], end: [], publish: [], lost: [], answer: [], fault: [], process: [], final: [], reject: [] },
};

const eventsOf = (lines: readonly Line[]): Events => ({
  ...none,
  ...(Object.groupBy(
    lines.toSorted((a, b) => a.at - b.at),
    ({ type }) => type,
  ) as Partial<Events>),
});

const finding = (rule: Rule, says: string, ...lines: number[]): Finding => ({ rule, says, lines });

/** Judges a history by itself. None: it holds all that test/faults/README.md lists. */
export function checkHistory(lines: readonly Line[], limits = usualLimits): Finding[] {
  const [begin, end] = [lines[0], lines.at(-1)];
  if (begin?.type !== 'begin') return [finding('history', 'does not start with begin', 1)];
  if (end?.type !== 'end') return [finding('history', 'is cut off: it has no end', lines.length)];
  if (end.lines !== lines.length - 1)
    return [finding('history', `is cut: ${end.lines} lines were written, and ${lines.length - 1} are there`, end.line)];
  const events = eventsOf(lines);
  const spans = new FaultSpans(events.fault, limits.readable);
  const probes = probeVersions(events.publish, events.lost, spans);
  return [
    ...checkLooks(events, begin, end, probes),
    ...checkAnswers(events.answer, probes, spans, limits),
    ...checkFinals(events.final, begin),
    ...checkRejects(events),
    ...checkEnds(events),
  ];
}

/** A reader that says nothing for longer saw nothing. */
const silenceMsMax = 10_000;

/** Somebody looked, all the time, at everything that is judged. */
function checkLooks(
  events: Events,
  begin: Line<'begin'>,
  end: Line<'end'>,
  probes: ReadonlyMap<string, ProbeVersions>,
): Finding[] {
  const answers = Map.groupBy(events.answer, ({ reader }) => reader);
  const silent = begin.readers.flatMap(({ reader }) => {
    const all = answers.get(reader) ?? [];
    return [...all, { start: end.at, line: end.line }].flatMap(({ start, line }, i) => {
      const silenceMs = start - (all[i - 1] ?? all[0] ?? begin).at;
      return silenceMs > silenceMsMax
        ? [finding('history', `reader ${reader} is silent for ${Math.round(silenceMs)} ms`, line)]
        : [];
    });
  });
  const shown = new Set(events.answer.flatMap(({ shows }) => Object.keys(shows)));
  const unread = [...probes].filter(([probe]) => !shown.has(probe));
  const last = begin.readers.filter(({ reader }) => answers.get(reader)?.at(-1)?.status === 503);
  const isEmpty = begin.readers.length === 0 || probes.size === 0 || events.process.length === 0;
  return [
    ...(isEmpty ? [finding('history', 'has no readers, no probes or no processes', begin.line)] : []),
    ...silent,
    ...unread.map(([probe, { versions }]) => finding('history', `nobody read ${probe}`, versions[0]!.line)),
    ...last.map(({ reader }) =>
      finding('unanswered', `${reader} gets 503 to the end`, answers.get(reader)!.at(-1)!.line),
    ),
  ];
}

/** In the end every path is, at every API, what a fresh replay answers, byte for byte. */
function checkFinals(finals: readonly Line<'final'>[], { readers, line }: Line<'begin'>): Finding[] {
  const missing = readers.filter(
    ({ process, path }) => !finals.some((each) => instanceOf(each.process) === process && each.path === path),
  );
  const different = finals.filter(
    ({ answered, replay }) => answered.status !== replay.status || answered.body !== replay.body,
  );
  return [
    ...missing.map(({ process, path }) => finding('history', `has no final answer of ${path} at ${process}`, line)),
    ...different.map((each) => finding('bytes', `${each.process} ${each.path} differs from a fresh replay`, each.line)),
  ];
}

const instanceOf = (process: string): string => process.split('+')[0]!;

/** Within this time after it is published, a bad record is set aside, on a busy machine too. */
const sendingMsMax = 2_000;

/**
 * Each bad record that the log held to the end is set aside once, at its place, and nothing else is. A leader that stopped as
 * it sent it may send it again once it wakes (docs/rules.md#rejected-once).
 */
function checkRejects({ publish, lost, reject, fault }: Events): Finding[] {
  const froze = fault.filter(({ name, state }) => name === 'leader paused and deposed' && state === 'begin');
  const isOnItsWay = (at: number): boolean => froze.some((each) => at <= each.at && each.at - at < sendingMsMax);
  const placeOf = ({ topic, partition, offset }: Line<'reject'> | Line<'publish'>) =>
    `${topic}/${partition}@${offset ?? '?'}`;
  const isLost = ({ topic, partition, offset, at }: Line<'publish'>): boolean =>
    lost.some((each) => each.topic === topic && each.partition === partition && offset! >= each.from && at <= each.at);
  const places = Map.groupBy(
    publish.filter(({ as }) => as === 'bad'),
    placeOf,
  );
  const found = Map.groupBy(reject, placeOf);
  const missing = [...places].filter(
    ([place, all]) =>
      !place.endsWith('@?') && (found.get(place)?.length ?? 0) < all.filter((each) => !isLost(each)).length,
  );
  // One without an acknowledgement may be anywhere in its partition.
  const most = (place: string): number => {
    const of = places.get(place) ?? places.get(place.replace(/\d+$/, '?'))?.slice(0, 1) ?? [];
    return of.reduce((sum, { at }) => sum + (isOnItsWay(at) ? 2 : 1), 0);
  };
  const extra = [...found].filter(([place, all]) => all.length > most(place));
  return [
    ...missing.map(([place, all]) => finding('rejects', `${place} is bad and was not set aside`, all[0]!.line)),
    ...extra.map(([place, all]) =>
      finding('rejects', `${place} was set aside ${all.length} times, or is not bad`, all.at(-1)!.line),
    ),
  ];
}

/** No process ends unasked, and one that is told to stop ends with code 0. */
const checkEnds = ({ process: processes }: Events): Finding[] =>
  processes.flatMap(({ process, state, asked, code, line }) => {
    if (state === 'started' || asked === 'kill' || (asked === 'stop' && code === 0)) return [];
    return [finding('ended', `${process} ended ${asked ? 'as it was told to' : 'unasked'}, with code ${code}`, line)];
  });
