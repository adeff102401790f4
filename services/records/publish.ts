import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { whyBad } from '../../projector/intake/validator.ts';
import { inOneLine } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import { defaultPartitions } from '../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { assertDeclared } from '../backends/declared-partitions.ts';
import { draftArchive } from '../backends/new-archive.ts';
import { Publishing, type PublishTarget, type RecordToPublish } from '../backends/publishing.ts';
import type { Run } from '../cli/commands.ts';
import { holdsOnlyDraft } from '../cli/draft-folder.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import { type Io, needKafka, UsageError } from '../cli/io.ts';
import type { Settings } from '../settings/settings.ts';
import { recordsOf } from './json-lines/input.ts';
import { LineError } from './json-lines/json-form.ts';

const shownMax = 20;

/**
 * Publishes records that stand in lines of JSON (docs/rules.md#json-lines). A file is checked whole before anything is
 * published; what comes through a pipe cannot be read twice, and is checked line by line.
 */
export const runPublish: Run<{ file?: string; archive?: string; dryRun?: boolean }> = async (options, settings, io) => {
  const { archive, dryRun = false, json } = options;
  const file = options.file === '-' ? undefined : options.file;
  const where = file ?? 'standard input';
  const isFile = file !== undefined && (await isRegular(file));
  const found = isFile || dryRun ? await checkWhole(file, where, io) : { topics: topicNames, records: 0 };
  if (found === null) return 1;
  const target = await openTarget([...found.topics], { archive, dryRun }, settings, io);
  if (dryRun || target === null) {
    const line = `${countText(found.records, 'record')} of ${where}: all good, nothing was published`;
    io.out(json ? JSON.stringify({ records: found.records, published: 0 }) : line);
    return 0;
  }
  const publishing = new Publishing(target, json ? io : null);
  const published = (): string => (archive === undefined ? publishing.place : 'nothing was written');
  try {
    const bad = await publishAll(file, publishing, io);
    if (bad === null) {
      await target.complete();
      if (!json) io.out(`Published ${countText(publishing.acknowledged, 'record')} of ${where}`);
      return 0;
    }
    io.err(`${inOneLine(`${where}: ${bad}`)}: ${published()}`);
  } catch (error) {
    await publishing.stop();
    io.err(`Stopped before the end of ${where}: ${published()}`);
    if (!io.signal.aborted) throw error;
  } finally {
    await target.close();
  }
  return 1;
};

/** Opens it, and looks whether it can be published to. Null: neither is named, which a dry run does without. */
async function openTarget(
  topics: readonly TopicName[],
  { archive: dir, dryRun }: { archive: string | undefined; dryRun: boolean },
  settings: Settings,
  io: Io,
): Promise<PublishTarget | null> {
  const { partitioners, topicPrefix: prefix } = settings;
  if (dir === undefined) {
    if (dryRun && settings.kafka === null) return null;
    const kafka = needKafka(settings, 'records publish without --archive');
    const { openKafkaTarget } = await import('../backends/open-kafka.ts');
    return openKafkaTarget('records publish', topics, kafka, settings, io);
  }
  needFolderName(dir, 'records publish --archive');
  if (existsSync(dir) && !holdsOnlyDraft(dir))
    throw new UsageError(`Cannot run records publish --archive: ${dir} is there already, want a new name`);
  assertDeclared('records publish --archive', topics, partitioners, defaultPartitions);
  return dryRun ? null : draftArchive('records publish', { dir, prefix }, partitioners);
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

/** What is wrong with a line, in the words of what would set its record aside. Null: it is good. */
const faultOf = (record: RecordToPublish | LineError): string | null =>
  record instanceof LineError ? record.message : whyBad(record);

/** The topics and the number of records. Null if a line is bad: then all are said. */
async function checkWhole(file: string | undefined, where: string, io: Io) {
  const topics = new Set<TopicName>();
  let [records, bad] = [0, 0];
  for await (const lines of recordsOf(file, 'Checked', io))
    for (const { number, record } of lines) {
      records++;
      const fault = faultOf(record);
      if (fault === null) topics.add((record as RecordToPublish).topic);
      else if (++bad <= shownMax) io.err(inOneLine(`${where}: line ${number}: ${fault}`));
    }
  if (bad === 0) return { topics, records };
  if (bad > shownMax) io.err(`${bad - shownMax} more; ride-calendar records check FILE sums them up`);
  io.err(`${bad} of ${countText(records, 'line')} break a rule: nothing was published`);
  return null;
}

/** Publishes up to the end, or to the first line that is bad. What is wrong with that one, or null. */
async function publishAll(file: string | undefined, publishing: Publishing, io: Io): Promise<string | null> {
  for await (const lines of recordsOf(file, 'Published', io)) {
    for (const { number, record } of lines) {
      const fault = faultOf(record);
      if (fault !== null) {
        await publishing.end();
        return `line ${number}: ${fault}`;
      }
      const full = publishing.add(record as RecordToPublish, number);
      if (full) await full;
    }
    // What came through a pipe is not kept until there is more.
    publishing.flush();
  }
  await publishing.end();
  return null;
}
