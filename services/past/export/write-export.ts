import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { instantOf } from '../../../api/calendar/views/local-days.ts';
import { writeAtomically } from '../../../infra/archive/format/write-atomically.ts';
import type { ArchiveSources } from '../../../infra/archive/log/partition-cursor.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import { publishedRide } from '../../../projector/views/night.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { clampedMs } from '../../../schemas/events/instants.ts';
import { fieldsOfKey } from '../../../schemas/events/record-keys.ts';
import type { Night, TopicRecords } from '../../../schemas/events/records.ts';
import { parseDay } from '../../../schemas/views/days.ts';
import { closing } from '../../cli/closing.ts';
import { draftFolder } from '../../cli/draft-folder.ts';
import { PastAnswers, targets } from '../answers/past-answers.ts';
import { type FoldedPast, foldPast } from '../log/past-fold.ts';
import { GoingCounts, goingCountColumns } from './going-counts.ts';
import {
  type Discretion,
  type ExportedTopic,
  keyCells,
  logTables,
  personalTopics,
  publicTopics,
  valueCells,
  versionColumns,
} from './log-tables.ts';
import { type Cell, type Column, column, ParquetTable, texts, type WrittenTable } from './parquet-table.ts';
import { eachVersion, type TopicVersion } from './topic-versions.ts';

interface ExportOptions extends Discretion {
  /** Later records do not count. It is also the time on the calendar's clock. */
  atMs: number;
  clockMs: number;
  signal: AbortSignal;
  onProgress?(rows: number): void;
}

export interface Exported {
  tables: Record<string, WrittenTable>;
  past: FoldedPast;
}

/** Writes an export to a new or empty folder, whole or not at all. `manifest`: its text, from what was written. */
export async function writeExport(
  dir: string,
  sources: ArchiveSources,
  options: ExportOptions,
  manifest: (exported: Exported) => string,
): Promise<Exported> {
  const draft = draftFolder(dir, 'export');
  try {
    const exported = await writeTables(draft.path, sources, options);
    writeAtomically(join(draft.path, 'calendar.sql'), calendarSql(Object.keys(exported.tables)));
    writeAtomically(join(draft.path, manifestName), manifest(exported));
    draft.publish(manifestName);
    return exported;
  } finally {
    draft.drop();
  }
}

const manifestName = 'manifest.json';

/**
 * `calendar.sql`, for DuckDB: views of an export's files, and the calendar as of an instant. Its nights show what answers show
 * (docs/rules.md#secret-neighbourhood, #cancellation-reason, #posted, #meet-time).
 */
function calendarSql(tables: readonly string[]): string {
  const view = (table: string): string => `CREATE OR REPLACE VIEW ${table} AS FROM read_parquet('${table}.parquet');`;
  const sql = readFileSync(new URL('calendar.sql', import.meta.url), 'utf8');
  return sql.replace('-- (views of the tables)', tables.map(view).join('\n'));
}

/** Writes the tables to a folder. */
async function writeTables(dir: string, sources: ArchiveSources, options: ExportOptions): Promise<Exported> {
  const { personal, atMs, clockMs, signal } = options;
  let facts: Facts | null = null;
  let rows = 0;

  /** `going_counts`, and the personal tables if they are wanted. */
  async function writeRiders(personal: boolean): Promise<Exported['tables']> {
    const counts = new GoingCounts();
    const count = (version: TopicVersion): void => counts.add(version);
    return closing([counts], async () => {
      const tables = personal ? await writeTopics(personalTopics, count) : {};
      if (!personal)
        for (const topic of ['riders', 'attendance'] as const) await eachVersion(sources, topic, options, count);
      const going_counts = await writeTable('going_counts', goingCountColumns, async (add) => {
        for (const { ride, day, fromMs, toMs, count } of counts.all())
          add([ride, day, BigInt(fromMs), toMs === null ? null : BigInt(toMs), count]);
      });
      return { going_counts, ...tables };
    });
  }

  async function writeTopics(
    topics: readonly ExportedTopic[],
    see: (version: TopicVersion) => void = () => {},
  ): Promise<Exported['tables']> {
    const tables: Exported['tables'] = {};
    for (const topic of topics) {
      const { key, value, derived = [] } = logTables[topic];
      tables[topic] = await writeTable(topic, [...key, ...value, ...derived, ...versionColumns], (add) =>
        eachVersion(sources, topic, options, (version) => {
          see(version);
          add(rowOf(topic, version));
        }),
      );
    }
    return tables;
  }

  function rowOf<T extends ExportedTopic>(topic: T, { record, fromMs, toMs, isSecret }: TopicVersion): Cell[] {
    const { partition, offset, timestampMs } = record;
    const value = record.value as TopicRecords[T] | null;
    const changes = value ? [BigInt(value.revision), BigInt(clampedMs(value.changed_at))] : [null, null];
    const isHidden = isSecret || isUnpublished(record);
    const cells = value ? valueCells(topic, value, options, isHidden) : logTables[topic].value.map(() => null);
    // A tombstone is never in force.
    const until = value ? toMs : fromMs;
    return [
      ...keyCells(topic, record.key),
      ...cells,
      ...(topic === 'nights' ? [startsAt(value as Night | null)] : []),
      ...[BigInt(fromMs), until === null ? null : BigInt(until)],
      ...[value === null, partition, BigInt(offset), BigInt(clampedMs(timestampMs)), ...changes],
    ];
  }

  /** When a night begins, to the minute as in answers: its wall time in the zone that its ride's metro has at the instant of the export. */
  function startsAt(night: Night | null): Cell {
    if (night === null || night.meet_time === null) return null;
    const { rideIds, rides, metros } = facts!;
    const ride = rideIds.find(night.ride);
    const metro = ride < 0 ? undefined : metros[rides[ride]!.metro];
    if (!metro) return null;
    const minute = night.meet_time - (night.meet_time % 60_000);
    return BigInt(clampedMs(instantOf(metro.time_zone, night.day, minute)));
  }

  /** Whether the night's ride has no page: then its meeting place was never shown. */
  function isUnpublished({ topic, key }: LogRecord): boolean {
    if (topic !== 'nights') return false;
    const ride = facts!.rideIds.find(fieldsOfKey('nights', key).ride);
    return ride < 0 || publishedRide(facts!, ride) === null;
  }

  async function writeTable(
    name: string,
    columns: readonly Column[],
    write: (add: (row: Cell[]) => void) => Promise<void>,
  ): Promise<WrittenTable> {
    const table = new ParquetTable(join(dir, `${name}.parquet`), columns);
    return closing([table], async () => {
      await write((row) => {
        table.add(row);
        options.onProgress?.(++rows);
      });
      return table.end();
    });
  }

  // Before the fold: these topics are the largest, and what their tables need in memory is gone then.
  const ofRiders = await writeRiders(personal);
  const past = await foldPast(sources, { atMs, signal });
  facts = past.facts;
  const tables = { ...(await writeTopics(publicTopics)), ...ofRiders };
  const answers = new PastAnswers(past.facts);
  for (const [name, { kind, key, keyCells }] of Object.entries(answerTables)) {
    tables[name] = await writeTable(name, [...key, ...answerColumns], async (add) => {
      for (const view of valueViews[kind].all(past.facts)) {
        signal.throwIfAborted();
        const id = valueViews[kind].id(past.facts, view);
        const { status, etag, body } = await answers.ask({ target: targets[kind](id), rider: null }, clockMs);
        // A day without nights has no view, and neither has a ride that is not posted.
        if (status === 200 && etag !== '"empty"') add([...keyCells(id), etag, body]);
      }
    });
  }
  return { tables, past };
}

/** Tables of answers, as the calendar gives them at the instant of the export, by the kind of view. */
const answerTables = {
  days: {
    kind: 'day',
    key: [column('metro'), column('day', 'day')],
    keyCells(id: string): Cell[] {
      const [metro, day] = id.split('/') as [string, string];
      return [metro, parseDay(day)];
    },
  },
  ride_pages: { kind: 'ride', key: texts('ride'), keyCells: (id: string): Cell[] => [id] },
} as const;

/** The columns beside an answer's id: the ETag with its quotes, and the answer's bytes. */
const answerColumns: readonly Column[] = texts('etag', 'answer');
