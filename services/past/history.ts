import { type ExitCode, type Io, UsageError } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import type { Settings } from '../settings/settings.ts';
import { differencesOf, differenceText } from './answers/answer-difference.ts';
import { answerHistory, type Version } from './answers/answer-history.ts';
import { needVersions, type PastAnswer, requestOf, withAnswer } from './answers/past-answers.ts';
import { sourcesOf } from './log/past-records.ts';
import { instantOf, instantText, type RecordClock } from './log/past-time.ts';
import { placeOf, placeText } from './log/records-in-time.ts';
import { doubtsOf, openPastLog } from './past-log.ts';

interface HistoryCommandOptions {
  path: string;
  json?: boolean;
  archive?: string;
  rider?: string;
  from?: string;
  to?: string;
  by?: RecordClock;
}

/**
 * Prints every version of one answer, oldest first, with the records that caused it. Exit code 1 if there never was
 * one.
 */
export async function runHistory(options: HistoryCommandOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { json = false, archive, by = 'timestamp' } = options;
  const request = requestOf('history', options.path, options.rider, settings.basePath);
  const fromMs = options.from === undefined ? Number.NEGATIVE_INFINITY : instantOf('history', '--from', options.from);
  const untilMs = options.to === undefined ? (settings.nowMs ?? Date.now()) : instantOf('history', '--to', options.to);
  if (untilMs < fromMs) {
    const end = options.to === undefined ? `now (${instantText(untilMs)}), where history ends without --to,` : '--to';
    throw new UsageError(`Cannot run history: ${end} is before --from, want it at or after it`);
  }
  needVersions(request);
  const log = await openPastLog('history', archive, settings, io);
  try {
    // Before the first record nothing and nobody exists.
    let last: PastAnswer = { status: request.rider === null ? 404 : 401, etag: null, body: '' };
    let count = 0;
    await withProgress(io, 'Records read', null, async (progress) => {
      const how = { untilMs, signal: io.signal, onProgress: progress.update };
      for await (const version of since(fromMs, answerHistory(sourcesOf(log, by), request, how))) {
        // On a terminal the printed versions replace the bar: they show how far it is.
        if (io.outIsTerminal) progress.stop();
        for (const line of json ? [jsonOf(version)] : linesOf(last, version)) io.out(line);
        last = version.answer;
        count++;
      }
    });
    if (!json) for (const doubt of doubtsOf(log, untilMs)) io.err(`May not be exact: ${doubt}`);
    if (count > 0) return 0;
    io.err(`${request.target} has no version up to ${instantText(untilMs)}`);
    return 1;
  } finally {
    log.close();
  }
}

/** The version in force at an instant, and those after it. */
async function* since(fromMs: number, versions: AsyncIterable<Version>): AsyncGenerator<Version> {
  let inForce: Version | null = null;
  for await (const version of versions) {
    if (version.atMs < fromMs) {
      inForce = version;
      continue;
    }
    if (inForce) yield inForce;
    inForce = null;
    yield version;
  }
  if (inForce) yield inForce;
}

function linesOf(last: PastAnswer, { atMs, answer, records }: Version): string[] {
  const what = records.length > 0 ? records.map(placeText).join(', ') : 'midnight passed';
  return [`${instantText(atMs)}  ${what}`, ...answerLines(last, answer).map((line) => `  ${line}`)];
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
