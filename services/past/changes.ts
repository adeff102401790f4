import { countText } from '../../projector/ports/log.ts';
import { type ExitCode, type Io, UsageError } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import type { Settings } from '../settings/settings.ts';
import { differencesOf } from './answers/answer-difference.ts';
import { type ChangedAnswer, changedAnswers } from './answers/changed-answers.ts';
import type { PastAnswer } from './answers/past-answers.ts';
import { answerLines } from './history.ts';
import { sourcesOf } from './log/past-records.ts';
import { instantOf, instantText, type RecordClock } from './log/past-time.ts';
import { placeOf, placeText } from './log/records-in-time.ts';
import { doubtsOf, openPastLog, type PastLog } from './past-log.ts';

interface ChangesCommandOptions {
  from: string;
  to: string;
  json?: boolean;
  archive?: string;
  by?: RecordClock;
  now?: string;
}

/** Prints which answers differ between two instants, and the records behind each. Exit code 1 if any do. */
export async function runChanges(options: ChangesCommandOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { json = false, archive, by = 'timestamp' } = options;
  const fromMs = instantOf('changes', '--from', options.from);
  const toMs = instantOf('changes', '--to', options.to);
  if (toMs < fromMs) throw new UsageError('Cannot run changes: --to is before --from, want it at or after it');
  const nowMs = options.now === undefined ? null : instantOf('changes', '--now', options.now);
  const log = await openPastLog('changes', archive, settings, io);
  try {
    const clocks = { from: nowMs ?? fromMs, to: nowMs ?? toMs };
    const { signal } = io;
    const changed = await withProgress(io, 'Records read', null, ({ update: onProgress }) =>
      changedAnswers(sourcesOf(log, by), { fromMs, toMs, clocks, signal, onProgress }),
    );
    for (const one of changed) for (const line of json ? [jsonOf(one)] : linesOf(one)) io.out(line);
    if (!json) tellSummary(changed, fromMs, toMs, log, io);
    return changed.length > 0 ? 1 : 0;
  } finally {
    log.close();
  }
}

const shown = ({ status, etag }: PastAnswer) => ({ status, etag });
const body = ({ status, body }: PastAnswer): string => (status === 200 ? body : '');

function jsonOf({ target, before, after, records }: ChangedAnswer): string {
  return JSON.stringify({
    path: target,
    before: shown(before),
    after: shown(after),
    records: records.map(placeOf),
    // `before` is absent if a thing came, and `after` if it went.
    differences: differencesOf(body(before), body(after)),
  });
}

function linesOf({ target, before, after, records }: ChangedAnswer): string[] {
  return [
    target,
    ...answerLines(before, after).map((line) => `  ${line}`),
    ...(records.length === 0 ? ['  by no record: midnight passed'] : []),
    ...records.map((timed) => `  by ${placeText(timed)} at ${instantText(timed.timeMs)}`),
    '',
  ];
}

function tellSummary(changed: readonly ChangedAnswer[], fromMs: number, toMs: number, log: PastLog, io: Io): void {
  const days = changed.filter(({ target }) => target.startsWith('/metros/')).length;
  const records = new Set(changed.flatMap((one) => one.records));
  const midnights = changed.filter((one) => one.records.length === 0).length;
  const parts = [countText(days, 'day'), countText(changed.length - days, 'ride')].join(' and ');
  const passing = midnights === 0 ? '' : `, ${midnights} of them by midnight alone`;
  io.out(
    changed.length === 0
      ? `No answer differs between ${instantText(fromMs)} and ${instantText(toMs)}`
      : `${parts} differ between ${instantText(fromMs)} and ${instantText(toMs)}, by ${countText(records.size, 'record')}${passing}`,
  );
  for (const doubt of doubtsOf(log, fromMs)) io.err(`May not be exact: ${doubt}`);
}
