import { readInputs } from '../../api/calendar/read-inputs.ts';
import { routePath, splitTarget } from '../../api/messages/target.ts';
import { type ExitCode, type Io, UsageError } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import type { Settings } from '../settings/settings.ts';
import { differencesOf, differenceText } from './answers/answer-difference.ts';
import { answerHistory, type Version } from './answers/answer-history.ts';
import { type PastAnswer, requestOf, withAnswer } from './answers/past-answers.ts';
import { sourcesOf } from './log/past-records.ts';
import { instantOf, instantText, type RecordClock } from './log/past-time.ts';
import { placeOf, placeText } from './log/records-in-time.ts';
import { doubtsOf, openPastLog } from './past-log.ts';

interface HistoryCommandOptions {
  path: string;
  rider?: string;
  json?: boolean;
  archive?: string;
  to?: string;
  by?: RecordClock;
}

/** Prints every version of an answer, the oldest first, with the records that caused it. Exit code 1 if there never was one. */
export async function runHistory(options: HistoryCommandOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { path, rider, json = false, archive, by = 'timestamp' } = options;
  const request = requestOf('history', path, rider, settings.basePath);
  const untilMs = options.to === undefined ? (settings.nowMs ?? Date.now()) : instantOf('history', '--to', options.to);
  checkInputs(request.target);
  const log = await openPastLog('history', archive, settings, io);
  try {
    let versions = 0;
    await withProgress(io, 'Records read', null, (progress) =>
      answerHistory(sourcesOf(log, by), request, {
        untilMs,
        signal: io.signal,
        onVersion(version) {
          // The printed versions replace the bar: they show how far it is.
          progress.stop();
          for (const line of json ? [jsonOf(version)] : linesOf(version)) io.out(line);
          versions++;
          return io.taken();
        },
        onProgress: progress.update,
      }),
    );
    if (!json) for (const doubt of doubtsOf(log, untilMs)) io.err(`May not be exact: ${doubt}`);
    if (versions > 0) return 0;
    io.err(`${request.target} has no version up to ${instantText(untilMs)}`);
    return 1;
  } finally {
    log.close();
  }
}

/** Throws UsageError for a request that is a 400 whatever the log holds: it has no versions. */
function checkInputs(target: string): void {
  const { path, query } = splitTarget(target);
  const { operation, segments } = routePath('', path)!;
  const inputs = operation === 'getOpenApi' ? { ok: true as const } : readInputs(operation, segments, query);
  if (inputs.ok) return;
  throw new UsageError(`Cannot run history: ${JSON.stringify(target)} is a 400: ${inputs.input} ${inputs.detail}`);
}

function linesOf({ atMs, before, answer, records }: Version): string[] {
  const what = records.length > 0 ? records.map(placeText).join(', ') : 'midnight passed';
  return [`${instantText(atMs)}  ${what}`, ...answerLines(before, answer).map((line) => `  ${line}`)];
}

/** How an answer changed, a line for each difference. */
export function answerLines(before: PastAnswer, after: PastAnswer): string[] {
  const status = before.status === after.status ? [] : [`status ${before.status} → ${after.status}`];
  const shown = ({ status, body }: PastAnswer): string => (status === 200 ? body : '');
  return [...status, ...differencesOf(shown(before), shown(after)).map(differenceText)];
}

function jsonOf({ atMs, answer, records }: Version): string {
  const { status, etag, body } = answer;
  return withAnswer({ at: instantText(atMs), status, etag, records: records.map(placeOf) }, body);
}
