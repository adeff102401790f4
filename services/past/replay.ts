import { countText } from '../../projector/running/log.ts';
import { wait } from '../../projector/running/stop.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { instantOf, instantText } from '../cli/instant-texts.ts';
import { type ExitCode, type Io, tell, UsageError } from '../cli/io.ts';
import { stepLines } from '../serve/http/first-steps.ts';
import { assertCanListen } from '../serve/http/listen.ts';
import type { Settings } from '../settings/settings.ts';
import { checkRider, type PastAnswer, PastAnswers, type PastRequest, withAnswer } from './answers/past-answers.ts';
import { type Asked, isMany, requestsOf } from './asked-paths.ts';
import type { FoldedPast } from './log/past-fold.ts';
import { doubtsOf, openPastLog, type PastLog } from './past-log.ts';
import { foldPoint, type PastPoint, type PointOptions, pointOf } from './past-point.ts';
import { servePast, settingsOfThePast } from './serve-past.ts';

interface ReplayOptions extends PointOptions {
  archive?: string;
  serve?: boolean;
  get?: string[];
  fromFile?: string;
  rider?: string;
  now?: string;
}

/** The calendar as it was: serves it, prints one answer, or says which records it is made of. */
export const runReplay: Run<ReplayOptions> = async (options, settings, io) => {
  const { json = false, archive, get, fromFile, rider } = options;
  const point = pointOf(options);
  const nowMs = options.now === undefined ? point.atMs : instantOf('replay', '--now', options.now);
  const isAsked = get !== undefined || fromFile !== undefined;
  if (options.serve && isAsked) throw new UsageError('Cannot run replay: want --serve or --get PATH, not both');
  if (rider !== undefined && !options.serve && !isAsked)
    throw new UsageError('Cannot run replay: --rider is of --get PATH or --serve, want one of them too');
  checkRider('replay', rider);
  const asked: Asked = { paths: get ?? [], fromFile, rider };
  const requests = requestsOf('replay', asked, settings.basePath);
  const served = options.serve ? settingsOfThePast(settings, nowMs) : null;
  const log = await openPastLog('replay', archive, settings, io);
  return closing([log], async () => {
    // Before the fold, which may take long.
    if (served) await assertCanListen(served);
    const past = await foldPoint(log, point, io);
    const said = saidOf(log, point, nowMs, past);
    if (served) return await serveAndSay(past, said, served, options, io);
    if (isAsked)
      return await answer(requests, past, said, nowMs, isMany(asked) ? 'lines' : json ? 'whole' : 'body', io);
    tell(io, json, said, [...linesOf(said), ...offsetLines(past)]);
    return 0;
  });
};

/** What a replay covers, in the form of its JSON. */
function saidOf(log: PastLog, { atMs, by }: PastPoint, nowMs: number, past: FoldedPast) {
  const { records, bad: rejected_records, offsets } = past;
  const doubts = doubtsOf(log, atMs);
  const as_of = instantText(atMs);
  const now = instantText(nowMs);
  const exact_since = log.manifest?.exact_since ?? null;
  return { as_of, by, now, log: log.where, records, rejected_records, exact_since, doubts, offsets };
}

type ReplaySaid = ReturnType<typeof saidOf>;

function linesOf(said: ReplaySaid): string[] {
  const { as_of, by, now, log, records, rejected_records, exact_since, doubts } = said;
  const clock = now === as_of ? '' : `, the clock at ${now}`;
  const going = by === 'timestamp' ? '' : ` by ${by}`;
  return [
    `As of ${as_of}${going}${clock}: ${countText(records, 'record')} of ${log}, ${countText(rejected_records, 'rejected one')} left out`,
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

/** `lines`: many answers, each on a line with its path. Otherwise one, alone or within what the replay covers. */
type AnswerForm = 'body' | 'whole' | 'lines';

async function answer(
  requests: readonly PastRequest[],
  past: FoldedPast,
  said: ReplaySaid,
  nowMs: number,
  form: AnswerForm,
  io: Io,
): Promise<ExitCode> {
  const { as_of, now } = said;
  const of = form === 'whole' ? said : { as_of, now };
  const answers = new PastAnswers(past.facts);
  let code: ExitCode = 0;
  for (const line of form === 'whole' ? [] : linesOf(said)) io.err(line);
  for (const request of requests) {
    io.signal.throwIfAborted();
    const got = await answers.ask(request, nowMs);
    const { status, etag, body } = got;
    if (status !== 200) code = 1;
    const { target: path, rider } = request;
    if (form !== 'body') io.out(withAnswer({ ...of, path, rider, status, etag }, body));
    else if (body !== '') io.out(body);
    await io.taken();
    if (form === 'body' && status !== 200) io.err(refusalText(request, got));
  }
  return code;
}

const servedNote =
  'The key is of this process; those of the log are live too. Nothing is written, and nothing changes. Ctrl-C stops it.';

const noSuchRider = (rider: string): string => `there was no such rider as ${rider} then`;

function refusalText({ target, rider }: PastRequest, { status }: PastAnswer): string {
  if (status === 401) return `Cannot answer ${target}: ${noSuchRider(rider!)}`;
  return `Answered ${target} with ${status}`;
}

async function serveAndSay(
  past: FoldedPast,
  said: ReplaySaid,
  settings: Settings,
  { rider, json }: ReplayOptions & { json?: boolean },
  io: Io,
): Promise<ExitCode> {
  if (rider !== undefined && !past.facts.riderExists(past.facts.riderIds.find(rider))) {
    for (const line of json ? [] : linesOf(said)) io.err(line);
    io.err(`Cannot serve for --rider ${rider}: ${noSuchRider(rider)}`);
    return 1;
  }
  const { steps, close } = await servePast(past.facts, settings, rider ?? null, io);
  const { base_url: baseUrl, developer_key: developerKey } = steps;
  const shown = stepLines({ ...steps, baseUrl, developerKey, calendar: null, signIn: 'pick' });
  tell(io, json, { ...said, ...steps }, [...linesOf(said), '', ...shown, '', servedNote]);
  await wait(io.signal);
  await close();
  return 0;
}
