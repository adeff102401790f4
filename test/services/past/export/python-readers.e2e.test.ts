import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../../../../services/command-line.ts';
import { quietIo } from '../../../support/processes/heard.ts';
import { ExportInDuckDb } from '../../../support/servers/duckdb.ts';
import { pythonWith } from '../../../support/servers/python-package.ts';
import { portlandDirectory } from '../../../support/worlds/portland.ts';

// The parts of docs/read_export_example.py, one for each library. What they read is compared with what DuckDB reads.

const example = readFileSync(new URL('../../../../docs/read_export_example.py', import.meta.url), 'utf8');
const scripts = example.split(/^# .*\n/m);
let dir: string;
let programs: string;
let on: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'python-readers-'));
  const command = ['export', join(dir, 'portland-tables'), '--archive', portlandDirectory, '--personal'];
  expect(await runCli(command, quietIo, { LOG_LEVEL: 'silent' })).toBe(0);
  using tables = await ExportInDuckDb.open(join(dir, 'portland-tables'));
  const [row] = await tables.rows("SELECT count(*) AS n FROM nights WHERE valid_to IS NULL AND status = 'ON'");
  on = String(row!.n);
  const others = ['pyarrow==26.0.1', 'polars==2.1.0', 'duckdb==2.0.0'];
  programs = await pythonWith('pandas', '3.1.1', ...others);
}, 600_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** By library: how its reader begins, and the types of columns, those that have no value in some rows too. */
const readers = {
  duckdb: {
    reader: 'duckdb.sql("FROM \'',
    types: 'dict(zip(nights.columns, nights.types))',
    are: ['BIGINT', 'BOOLEAN', 'BOOLEAN', 'DATE', 'TIME', 'TIMESTAMP WITH TIME ZONE'],
  },
  pandas: {
    reader: 'pandas.read_parquet(',
    types: 'nights.dtypes',
    are: ['Int64', 'boolean', 'boolean', 'object', 'object', 'datetime64[ms, UTC]'],
  },
  polars: {
    reader: 'polars.read_parquet(',
    types: 'nights.schema',
    are: ['Int64', 'Boolean', 'Boolean', 'Date', 'Time', "Datetime(time_unit='ms', time_zone='UTC')"],
  },
  pyarrow: {
    reader: 'pyarrow.parquet.read_table(',
    types: 'dict(zip(nights.schema.names, nights.schema.types))',
    are: ['int64', 'bool', 'bool', 'date32[day]', 'time32[ms]', 'timestamp[ms, tz=UTC]'],
  },
};

it.each(Object.entries(readers))('%s reads what is in force, with types that have no value too', async (_, one) => {
  const columns = "'revision secret show_neighbourhood day meet_time valid_to'.split()";
  const script = `${scripts.find((text) => text.includes(`nights = ${one.reader}`))}
print('=', *[(${one.types})[name] for name in ${columns}], sep='\\t')`;
  const { stdout } = await promisify(execFile)(join(programs, 'python'), ['-c', script], { cwd: dir });
  expect(stdout.trimEnd().split('\n').at(-1)!.split('\t').slice(1)).toEqual(one.are);
  // What the example's own lines print: the nights that are on.
  expect(stdout).toContain(on);
});
