import { statSync } from 'node:fs';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { MisplacedRecords } from '../../projector/intake/misplaced-records.ts';
import { positionOf } from '../../projector/position/position.ts';
import { countText } from '../../projector/running/log.ts';
import { topicNames } from '../../schemas/events/records.ts';
import type { Run } from '../cli/commands.ts';
import { type Io, UsageError } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import { withLog } from '../serve/open-event-log.ts';
import type { Settings } from '../settings/settings.ts';
import { type Notice, notices } from './checking/notices.ts';
import { RecordChecks } from './checking/record-checks.ts';
import { recordsOf } from './json-lines/input.ts';
import { LineError } from './json-lines/json-form.ts';

/** Says what is bad or doubtful in a file of JSON Lines, an archive or Kafka (docs/rules.md#records-check). */
export const runCheck: Run<{ file?: string; archive?: string; strict?: boolean }> = async (options, settings, io) => {
  const { file, json, strict = false } = options;
  if (file !== undefined && options.archive !== undefined)
    throw new UsageError('Cannot run records check: want a file or --archive, not both');
  const named = file === undefined || file === '-' ? null : statSync(file, { throwIfNoEntry: false });
  if (named === undefined)
    throw new UsageError(
      `Cannot run records check: there is no ${file}, want a file of JSON Lines or an archive's folder`,
    );
  const isLines = file === '-' || (named !== null && !named.isDirectory());
  const { checks, where } = isLines
    ? await checkLines(file!, io)
    : await checkLog(options.archive ?? file, settings, io);
  checks.end();
  const all = checks.notices.all;
  for (const notice of all)
    io.out(json ? JSON.stringify({ ...notice, fix: notices.get(notice.code)!.fix }) : textOf(notice));
  const count = { error: 0, warning: 0 };
  for (const one of all) count[one.severity] += one.count;
  const found = `${countText(count.error, 'error')}, ${countText(count.warning, 'warning')}`;
  if (!json) io.out(`${countText(checks.records, 'record')} in ${where}: ${found}`);
  return count.error > 0 || (strict && count.warning > 0) ? 1 : 0;
};

function textOf({ code, severity, detail, count, places }: Notice): string {
  const { what, fix } = notices.get(code)!;
  const where = `${places.join(', ')}${count > places.length ? ', …' : ''}`;
  return `${severity}  ${code}  ${count}\n  ${what}${detail && `: ${detail}`}\n  at ${where}\n  ${fix}`;
}

async function checkLines(file: string, io: Io) {
  const checks = new RecordChecks(Date.now(), (_, line) => `line ${line}`);
  for await (const lines of recordsOf(file, 'Checked', io))
    for (const { number, record } of lines) {
      if (!(record instanceof LineError)) checks.take(record, null, number);
      else {
        checks.records++;
        checks.notices.add('invalid_line', record.message, () => `line ${number}`);
      }
    }
  return { checks, where: file === '-' ? 'standard input' : file };
}

/** A place in a log as one number. */
const partitionsMax = 4_096;

const checkLog = (archive: string | undefined, settings: Settings, io: Io) =>
  withLog('records check', archive, settings, io, async (log, { partitioners, where }) => {
    const misplaced = new MisplacedRecords(partitioners);
    const placeText = (topic: string, place: number): string =>
      `${topic}/${place % partitionsMax}@${Math.floor(place / partitionsMax)}`;
    const checks = new RecordChecks(Date.now(), placeText);
    const bounds = await log.bounds();
    const total = topicNames.flatMap((topic) => bounds[topic]).reduce((sum, { low, end }) => sum + end - low, 0);
    await withProgress(io, 'Checked', 100, (progress) =>
      followToEnds(log, positionOf(bounds, 'low'), bounds, io.signal, ({ topic, partition, records }) => {
        for (const record of records) {
          checks.take(record, record.timestampMs, record.offset * partitionsMax + partition);
          misplaced.take(record, bounds[topic].length);
        }
        progress.update({ done: Math.min(checks.records, total), total });
      }),
    );
    for (const [topic, { records, first }] of misplaced.found)
      checks.notices.add('misplaced', topic, () => first, records);
    return { checks, where };
  });
