import { countText } from '../../projector/ports/log.ts';
import { aborted } from '../../projector/ports/waiting.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { type ExitCode, type Io, UsageError } from '../cli/io.ts';
import { assertCanListen } from '../serve/http/listen.ts';
import type { Settings } from '../settings/settings.ts';
import { checkRider, PastAnswers, type PastRequest, requestOf, withAnswer } from './answers/past-answers.ts';
import type { FoldedPast } from './log/past-fold.ts';
import { instantOf, instantText } from './log/past-time.ts';
import { doubtsOf, openPastLog, type PastLog } from './past-log.ts';
import { foldPoint, type PastPoint, type PointOptions, pointOf } from './past-point.ts';
import { type PastSteps, servePast, settingsOfThePast } from './serve-past.ts';

interface ReplayOptions extends PointOptions {
  json?: boolean;
  archive?: string;
  serve?: boolean;
  get?: string;
  rider?: string;
  now?: string;
}

/** The calendar as it was: serves it, prints one answer, or says which records it is made of. */
export async function runReplay(options: ReplayOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { json = false, archive, get, rider } = options;
  const point = pointOf(options);
  const nowMs = options.now === undefined ? point.atMs : instantOf('replay', '--now', options.now);
  if (options.serve && get !== undefined)
    throw new UsageError('Cannot run replay: want --serve or --get PATH, not both');
  if (rider !== undefined && !options.serve && get === undefined) {
    throw new UsageError('Cannot run replay: --rider is of --get PATH or --serve, want one of them too');
  }
  checkRider('replay', rider);
  const request = get === undefined ? null : requestOf('replay', get, rider, settings.basePath);
  const served = options.serve ? settingsOfThePast(settings, nowMs) : null;
  if (served) await assertCanListen(served);
  const log = await openPastLog('replay', archive, settings, io);
  try {
    const past = await foldPoint(log, point, io);
    const said = saidOf(log, point, nowMs, past);
    if (served) return await serveAndSay(past, said, served, options, io);
    if (request) return await answer(request, past, said, nowMs, json, io);
    if (json) io.out(JSON.stringify(said));
    else for (const line of [...linesOf(said), ...offsetLines(past)]) io.out(line);
    return 0;
  } finally {
    log.close();
  }
}

/** What a replay covers, in the form of its JSON. */
function saidOf(log: PastLog, { atMs, by }: PastPoint, nowMs: number, past: FoldedPast) {
  const { records, bad: bad_records, offsets } = past;
  const doubts = doubtsOf(log, atMs);
  const as_of = instantText(atMs);
  const now = instantText(nowMs);
  const exact_since = log.manifest?.exact_since ?? null;
  return { as_of, by, now, log: log.where, records, bad_records, exact_since, doubts, offsets };
}

type ReplaySaid = ReturnType<typeof saidOf>;

function linesOf(said: ReplaySaid): string[] {
  const { as_of, by, now, log, records, bad_records, exact_since, doubts } = said;
  const clock = now === as_of ? '' : `, the clock at ${now}`;
  const going = by === 'timestamp' ? '' : ` by ${by}`;
  return [
    `As of ${as_of}${going}${clock}: ${countText(records, 'record')} of ${log}, ${countText(bad_records, 'bad one')} left out`,
    ...(exact_since === null ? [] : [`The archive has every record since ${exact_since}`]),
    ...doubts.map((doubt) => `May not be exact: ${doubt}`),
  ];
}

function offsetLines({ offsets }: FoldedPast): string[] {
  const lines = topicNames.map((topic) => {
    const ends = offsets[topic].map((offset, partition) => `${partition}: ${offset}`);
    return `  ${topic.padEnd(16)}${ends.join('  ')}`;
  });
  return ['The records below these offsets, by partition (--json writes them to a file for --offsets):', ...lines];
}

async function answer(
  request: PastRequest,
  past: FoldedPast,
  said: ReplaySaid,
  nowMs: number,
  json: boolean,
  io: Io,
): Promise<ExitCode> {
  const { target: path, rider } = request;
  const { status, etag, body } = await new PastAnswers(past.facts).ask(request, nowMs);
  if (json) io.out(withAnswer({ ...said, path, rider, status, etag }, body));
  else {
    for (const line of linesOf(said)) io.err(line);
    if (body !== '') io.out(body);
    if (status === 401) io.err(`Cannot answer ${path}: ${noSuchRider(rider!)}`);
    else if (status !== 200) io.err(`Answered ${path} with ${status}`);
  }
  return status === 200 ? 0 : 1;
}

const noSuchRider = (rider: string): string => `there was no such rider as ${rider} then`;

async function serveAndSay(
  past: FoldedPast,
  said: ReplaySaid,
  settings: Settings,
  { rider, json }: ReplayOptions,
  io: Io,
): Promise<ExitCode> {
  const number = rider === undefined ? -1 : past.facts.riderIds.find(rider);
  if (rider !== undefined && (number < 0 || !past.facts.riderExists(number))) {
    for (const line of json ? [] : linesOf(said)) io.err(line);
    io.err(`Cannot serve for --rider ${rider}: ${noSuchRider(rider)}`);
    return 1;
  }
  const { steps, close } = await servePast(past.facts, settings, rider ?? null, io.signal);
  if (json) io.out(JSON.stringify({ ...said, ...steps }));
  else for (const line of [...linesOf(said), '', ...stepLines(steps)]) io.out(line);
  await aborted(io.signal);
  await close();
  return 0;
}

function stepLines({ base_url, docs, developer_key, day, rider, token }: PastSteps): string[] {
  const lines = [
    `  Base URL       ${base_url}`,
    `  Docs           ${docs}`,
    `  Developer key  ${developer_key} (of this process; those of the log are live too)`,
  ];
  if (day) lines.push('', 'First request:', `  curl -H 'X-Api-Key: ${developer_key}' ${day}`);
  if (token) {
    const curl = `  curl -H 'Authorization: Bearer ${token}' ${base_url}/me/nights`;
    lines.push('', `Of ${rider}, with a token that is good for this process:`, curl);
  }
  return [...lines, '', 'Nothing is written, and nothing changes. Ctrl-C stops it.'];
}
