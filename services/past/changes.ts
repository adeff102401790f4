import { type RecordClock, sourcesOf } from '../../infra/archive/log/partition-cursor.ts';
import type { RecordInTime } from '../../infra/archive/log/records-in-time.ts';
import { countText } from '../../projector/running/log.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { instantOf, instantText } from '../cli/instant-texts.ts';
import { type Io, UsageError } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import { differencesOf } from './answers/answer-difference.ts';
import { type ChangedAnswer, changedAnswers } from './answers/changed-answers.ts';
import type { PastAnswer } from './answers/past-answers.ts';
import { answerLines } from './history.ts';
import { placeOf, placeText } from './log/record-places.ts';
import { doubtsOf, openPastLog } from './past-log.ts';

interface ChangesCommandOptions {
  from: string;
  to: string;
  archive?: string;
  by?: RecordClock;
  now?: string;
}

/** Prints which answers differ between two instants, and the records behind each. Exit code 1 if any do. */
export const runChanges: Run<ChangesCommandOptions> = async (options, settings, io) => {
  const { json = false, archive, by = 'timestamp' } = options;
  const fromMs = instantOf('changes', '--from', options.from);
  const toMs = instantOf('changes', '--to', options.to);
  if (toMs < fromMs) throw new UsageError('Cannot run changes: --to is before --from, want it at or after it');
  const nowMs = options.now === undefined ? null : instantOf('changes', '--now', options.now);
  const log = await openPastLog('changes', archive, settings, io);
  return closing([log], async () => {
    const clocks = { from: nowMs ?? fromMs, to: nowMs ?? toMs };
    // `midnights`: how many days and rides changed by no record.
    const counts = { days: 0, rides: 0, midnights: 0 };
    const records = await withProgress(io, 'Records read', null, (progress) =>
      changedAnswers(sourcesOf(log, by), {
        fromMs,
        toMs,
        clocks,
        signal: io.signal,
        textOf: json ? (record) => JSON.stringify(placeOf(record)) : lineOf,
        async onChanged(one) {
          progress.close();
          counts[one.target.startsWith('/metros/') ? 'days' : 'rides']++;
          const records = await (json ? printJson(one, io) : print(one, io));
          if (records === 0) counts.midnights++;
        },
        onProgress: progress.update,
      }),
    );
    const { days, rides, midnights } = counts;
    if (!json) {
      const between = `between ${instantText(fromMs)} and ${instantText(toMs)}`;
      const changed = `${countText(days, 'day')} and ${countText(rides, 'ride')} differ`;
      const passing = midnights === 0 ? '' : `, ${midnights} of them by midnight alone`;
      const behind = `, by ${countText(records, 'record')}${passing}`;
      io.out(days + rides === 0 ? `No answer differs ${between}` : `${changed} ${between}${behind}`);
      for (const doubt of doubtsOf(log, fromMs)) io.err(`May not be exact: ${doubt}`);
    }
    return days + rides > 0 ? 1 : 0;
  });
};

const shown = ({ status, etag }: PastAnswer) => ({ status, etag });
const body = ({ status, body }: PastAnswer): string => (status === 200 ? body : '');

/** Prints a changed answer. Returns the number of records behind it. */
async function printJson({ target, before, after, records }: ChangedAnswer, io: Io): Promise<number> {
  io.out(
    `${JSON.stringify({ path: target, before: shown(before), after: shown(after) }).slice(0, -1)},"records":[`,
    '',
  );
  const count = await printAll(records, ',', io);
  // `before` is absent if a thing came, and `after` if it went.
  io.out(`],"differences":${JSON.stringify(differencesOf(body(before), body(after)))}}`);
  return count;
}

const lineOf = (record: RecordInTime): string => `  by ${placeText(record)} at ${instantText(record.timeMs)}`;

async function print({ target, before, after, records }: ChangedAnswer, io: Io): Promise<number> {
  io.out(target);
  for (const line of answerLines(before, after)) io.out(`  ${line}`);
  const count = await printAll(records, '\n', io);
  io.out(count === 0 ? '  by no record: midnight passed\n' : '\n');
  return count;
}

const partLength = 1 << 16;

/** Prints texts with something between them, many at a time, as fast as they are read. Returns how many. */
async function printAll(texts: Iterable<string>, between: string, io: Io): Promise<number> {
  let count = 0;
  let part = '';
  for (const text of texts) {
    part += count++ === 0 ? text : between + text;
    if (part.length < partLength) continue;
    io.out(part, '');
    part = '';
    await io.taken();
  }
  io.out(part, '');
  return count;
}
