import { type RecordClock, sourcesOf } from '../../infra/archive/log/partition-cursor.ts';
import { countText } from '../../projector/running/log.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { needEmptyFolder } from '../cli/empty-folder.ts';
import { instantOf, instantText } from '../cli/instant-texts.ts';
import { runWithProgress } from '../cli/progress.ts';
import { type Exported, writeExport } from './export/write-export.ts';
import { doubtsOf, openPastLog, type PastLog } from './past-log.ts';

interface ExportCommandOptions {
  dir: string;
  archive?: string;
  asOf?: string;
  by?: RecordClock;
  personal?: boolean;
  secrets?: boolean;
}

/** Writes the log's history and the answers as Parquet, with SQL for DuckDB and a manifest. */
export const runExport: Run<ExportCommandOptions> = async (options, settings, io) => {
  const { dir, json = false, archive, by = 'timestamp', personal = false, secrets = false } = options;
  const clockMs =
    options.asOf === undefined ? (settings.nowMs ?? Date.now()) : instantOf('export', '--as-of', options.asOf);
  await needEmptyFolder(dir, 'export');
  const log = await openPastLog('export', archive, settings, io);
  return closing([log], async () => {
    // Without an instant every record counts, even one whose producer's clock was ahead.
    const atMs = options.asOf === undefined ? Number.POSITIVE_INFINITY : clockMs;
    const said = (exported: Exported) => saidOf(exported, log, { clockMs, by, personal, secrets });
    const manifest = (exported: Exported) => `${JSON.stringify(said(exported), null, 1)}\n`;
    const command = { json, title: 'Rows', total: null, stopped: 'nothing was written' };
    const code = await runWithProgress(command, io, async ({ update: onProgress }) => {
      const how = { atMs, clockMs, personal, secrets, signal: io.signal, onProgress };
      const exported = await writeExport(dir, sourcesOf(log, by), how, manifest);
      return { result: { dir, ...said(exported) }, lines: linesOf(dir, exported, options) };
    });
    const doubts = json || code !== 0 || options.asOf === undefined ? [] : doubtsOf(log, clockMs);
    for (const doubt of doubts) io.err(`May not be exact: ${doubt}`);
    return code;
  });
};

/** The export's manifest. `replay --offsets` takes it as a file of offsets. */
function saidOf(
  { tables, past }: Exported,
  { where, manifest, isCompacted }: PastLog,
  { clockMs, ...how }: { clockMs: number; by: RecordClock; personal: boolean; secrets: boolean },
) {
  const { records, bad: rejected_records, offsets } = past;
  const as_of = instantText(clockMs);
  const of = { log: where, compacted: isCompacted, exact_since: manifest?.exact_since ?? null };
  return { version: 1, as_of, ...how, ...of, records, rejected_records, offsets, tables };
}

const linesOf = (dir: string, { tables, past }: Exported, { personal, secrets }: ExportCommandOptions): string[] => [
  ...Object.values(tables).map(({ file, rows }) => `  ${file.padEnd(20)} ${countText(rows, 'row')}`),
  `Read ${countText(past.records, 'record')}, left out ${countText(past.bad, 'rejected one')}; written: ${dir}`,
  ...(personal ? ['It holds riders’ personal data: an erased rider stays in it until it is made anew'] : []),
  ...(secrets ? ['It holds the places of secret meetings'] : []),
  `With DuckDB: cd ${dir} && duckdb -init calendar.sql`,
];
