import { readInputs } from '../../api/calendar/read-inputs.ts';
import { routePath, splitTarget } from '../../api/messages/target.ts';
import { type RecordClock, sourcesOf } from '../../infra/archive/log/partition-cursor.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { instantOf, instantText } from '../cli/instant-texts.ts';
import { UsageError } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import { differencesOf, differenceText } from './answers/answer-difference.ts';
import { answerHistories, type Version } from './answers/answer-history.ts';
import { type PastAnswer, withAnswer } from './answers/past-answers.ts';
import { type Asked, isMany, requestsOf } from './asked-paths.ts';
import { placeOf, placeText } from './log/record-places.ts';
import { doubtsOf, openPastLog } from './past-log.ts';

interface HistoryCommandOptions extends Omit<Asked, 'paths'> {
  path: string[];
  archive?: string;
  to?: string;
  by?: RecordClock;
}

/** Prints every version of each answer, the oldest first, by the records behind it. Exit code 1 if one had none. */
export const runHistory: Run<HistoryCommandOptions> = async (options, settings, io) => {
  const { path: paths, fromFile, rider, archive, by = 'timestamp' } = options;
  const asked: Asked = { paths, fromFile, rider };
  const requests = requestsOf('history', asked, settings.basePath);
  if (paths.length === 0 && fromFile === undefined)
    throw new UsageError('Cannot run history: no answer is named, want a PATH or --from-file FILE');
  const untilMs = options.to === undefined ? (settings.nowMs ?? Date.now()) : instantOf('history', '--to', options.to);
  const many = isMany(asked);
  const json = many || (options.json ?? false);
  for (const { target } of requests) checkInputs(target);
  const log = await openPastLog('history', archive, settings, io);
  return closing([log], async () => {
    const unseen = new Set(requests);
    await withProgress(io, 'Records read', null, (progress) =>
      answerHistories(sourcesOf(log, by), requests, {
        untilMs,
        signal: io.signal,
        onVersion(version) {
          // The printed versions replace the bar: they show how far it is.
          progress.close();
          for (const line of json ? [jsonOf(version, many)] : linesOf(version)) io.out(line);
          unseen.delete(version.request);
          return io.taken();
        },
        onProgress: progress.update,
      }),
    );
    if (!json) for (const doubt of doubtsOf(log, untilMs)) io.err(`May not be exact: ${doubt}`);
    for (const { target } of unseen) io.err(`${target} has no version up to ${instantText(untilMs)}`);
    return unseen.size === 0 ? 0 : 1;
  });
};

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

function jsonOf({ request, atMs, answer, records }: Version, many: boolean): string {
  const { status, etag, body } = answer;
  const of = many ? { path: request.target, rider: request.rider } : {};
  return withAnswer({ ...of, at: instantText(atMs), status, etag, records: records.map(placeOf) }, body);
}
