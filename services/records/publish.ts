import { stat } from 'node:fs/promises';
import { whyBad } from '../../projector/intake/validator.ts';
import { inOneLine } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { type ExitCode, type Io, UsageError } from '../cli/io.ts';
import { type Progress, percentOf, withProgress } from '../cli/progress.ts';
import type { Settings } from '../settings/settings.ts';
import { inputOf, type Lines } from './json-lines/input.ts';
import { LineError } from './json-lines/json-form.ts';
import { type LineRecord, readLine } from './json-lines/json-line.ts';
import { openTarget } from './publish-target.ts';
import { Publishing } from './publishing.ts';

interface PublishOptions {
  /** A file of JSON Lines. Absent: standard input. */
  file?: string;
  json?: boolean;
  /** A folder that is not there yet, for a new archive. Absent: Kafka. */
  archive?: string;
  dryRun?: boolean;
}

const shownMax = 20;

/**
 * Publishes records that stand in lines of JSON (docs/rules.md#json-lines). A file is checked whole before anything is
 * published; what comes through a pipe cannot be read twice, and is checked line by line.
 */
export async function runPublish(options: PublishOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { file, archive, dryRun = false, json } = options;
  const where = file ?? 'standard input';
  const isFile = file !== undefined && (await isRegular(file));
  const topics = new Set<TopicName>(topicNames);
  let checked = 0;
  if (isFile || dryRun) {
    const found = await checkWhole(inputOf(file, io), where, io);
    if (found === null) return 1;
    topics.clear();
    for (const topic of found.topics) topics.add(topic);
    checked = found.records;
  }
  const target = await openTarget([...topics], { archive, dryRun }, settings, io);
  if (dryRun || target === null) {
    const line = `${countText(checked, 'record')} of ${where}: all good, nothing was published`;
    io.out(json ? JSON.stringify({ records: checked, published: 0 }) : line);
    return 0;
  }
  const publishing = new Publishing(target, json ? io : null);
  try {
    const bad = await withProgress(io, 'Records', isFile ? 100 : null, async (progress) => {
      const fault = await publishAll(inputOf(file, io), publishing, progress, io);
      await publishing.end();
      return fault;
    });
    if (bad === null) {
      await target.complete();
      if (!json) io.out(`Published ${countText(publishing.acknowledged, 'record')} of ${where}`);
      return 0;
    }
    io.err(`${inOneLine(`${where}: ${bad}`)}: ${archive === undefined ? publishing.place : 'nothing was written'}`);
  } catch (error) {
    await publishing.stop();
    io.err(`Stopped before the end of ${where}: ${archive === undefined ? publishing.place : 'nothing was written'}`);
    if (!io.signal.aborted) throw error;
  } finally {
    await target.close();
  }
  return 1;
}

async function isRegular(file: string): Promise<boolean> {
  const found = await stat(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot run records publish: the file ${file} can't be read (${code}), want JSON Lines`);
  });
  if (!found.isDirectory()) return found.isFile();
  throw new UsageError(
    `Cannot run records publish: ${file} is a folder, want a file of JSON Lines; archive load publishes an archive`,
  );
}

/** A line's record. Throws LineError if it is bad, in the words of what would set it aside. */
function goodRecord(line: Buffer): LineRecord {
  const record = readLine(line, Date.now());
  const reason = whyBad(record);
  if (reason !== null) throw new LineError(reason);
  return record;
}

/** The topics and the number of records. Null if a line is bad: then all are said. */
async function checkWhole({ chunks, read, size }: Lines, where: string, io: Io) {
  const topics = new Set<TopicName>();
  let [records, bad] = [0, 0];
  await withProgress(io, 'Checked', size === null ? null : 100, async (progress) => {
    const show =
      size === null ? () => progress.update(records) : () => percentOf(progress)({ done: read(), total: size });
    for await (const lines of chunks) {
      io.signal.throwIfAborted();
      for (const { number, line } of lines) {
        records++;
        try {
          topics.add(goodRecord(line).topic);
        } catch (error) {
          if (!(error instanceof LineError)) throw error;
          if (++bad <= shownMax) io.err(inOneLine(`${where}: line ${number}: ${error.message}`));
        }
      }
      show();
    }
  });
  if (bad === 0) return { topics, records };
  if (bad > shownMax) io.err(`${bad - shownMax} more; ride-calendar records check FILE sums them up`);
  io.err(`${bad} of ${countText(records, 'line')} are bad: nothing was published`);
  return null;
}

/** Publishes up to the end, or to the first line that is bad. What is wrong with that one, or null. */
async function publishAll({ chunks, read, size }: Lines, publishing: Publishing, progress: Progress, { signal }: Io) {
  try {
    for await (const lines of chunks) {
      for (const { number, line } of lines) {
        signal.throwIfAborted();
        const full = publishing.add(goodLine(number, line), number);
        if (full) await full;
      }
      // What came through a pipe is not kept until there is more.
      publishing.flush();
      if (size === null) progress.update(publishing.acknowledged);
      else percentOf(progress)({ done: read(), total: size });
    }
    return null;
  } catch (error) {
    if (error instanceof LineError) return error.message;
    throw error;
  }
}

function goodLine(number: number, line: Buffer): LineRecord {
  try {
    return goodRecord(line);
  } catch (error) {
    throw error instanceof LineError ? new LineError(`line ${number}: ${error.message}`) : error;
  }
}
