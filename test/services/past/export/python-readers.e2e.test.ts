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
/** The script that makes `nights` with a library's reader. */
const scriptWith = (reader: string): string => scripts.find((text) => text.includes(`nights = ${reader}`))!;

let dir: string;
let tables: ExportInDuckDb;
let programs: string;
let known: unknown[];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'python-readers-'));
  const command = ['export', join(dir, 'portland-tables'), '--archive', portlandDirectory, '--personal'];
  expect(await runCli(command, quietIo, { LOG_LEVEL: 'silent' })).toBe(0);
  tables = await ExportInDuckDb.open(join(dir, 'portland-tables'));
  const wanted = 'count(*), sum(revision)::BIGINT, count_if(secret), max(day)::VARCHAR';
  const [nights] = await tables.rows(`SELECT ${wanted} FROM nights`);
  const [riders] = await tables.rows('SELECT count(*), sum(revision)::BIGINT, count_if(revision IS NULL) FROM riders');
  const numbers = (row: object) => Object.values(row).map((cell) => (Number.isNaN(Number(cell)) ? cell : Number(cell)));
  known = [numbers(nights!), numbers(riders!)];
  const others = ['pyarrow==26.0.1', 'polars==2.1.0', 'duckdb==2.0.0'];
  programs = await pythonWith('pandas', '3.1.1', ...others);
}, 600_000);
afterAll(() => {
  tables?.[Symbol.dispose]();
  rmSync(dir, { recursive: true, force: true });
});

/**
 * By library: how its reader begins, how it counts and sums columns of `t`, and the types that it gives to columns. `riders`
 * has tombstones, which have no revision.
 */
const readers = {
  duckdb: {
    reader: 'duckdb.sql("FROM \'',
    sums: `
def of(t, wanted): return list(duckdb.sql(f'SELECT {wanted} FROM t').fetchall()[0])
say(of(nights, 'count(*), sum(revision)::BIGINT, count_if(secret), max(day)::VARCHAR'))
say(of(riders, 'count(*), sum(revision)::BIGINT, count_if(revision IS NULL)'))
types = dict(zip(nights.columns, nights.types))`,
    types: ['BIGINT', 'BOOLEAN', 'BOOLEAN', 'DATE', 'TIME', 'TIMESTAMP WITH TIME ZONE'],
  },
  pandas: {
    reader: 'pandas.read_parquet(',
    sums: `
say([len(nights), nights.revision.sum(), nights.secret.sum(), nights.day.max()])
say([len(riders), riders.revision.sum(), riders.revision.isna().sum()])
types = riders.dtypes.to_dict() | {name: nights.dtypes[name] for name in nights if name != 'revision'}`,
    types: ['Int64', 'boolean', 'boolean', 'object', 'object', 'datetime64[ms, UTC]'],
  },
  polars: {
    reader: 'polars.read_parquet(',
    sums: `
say([len(nights), nights['revision'].sum(), nights['secret'].sum(), nights['day'].max()])
say([len(riders), riders['revision'].sum(), riders['revision'].null_count()])
types = nights.schema`,
    types: ['Int64', 'Boolean', 'Boolean', 'Date', 'Time', "Datetime(time_unit='ms', time_zone='UTC')"],
  },
  pyarrow: {
    reader: 'pyarrow.parquet.read_table(',
    sums: `
pc = pyarrow.compute
say([len(nights), pc.sum(nights['revision']), pc.sum(nights['secret']), pc.max(nights['day'])])
say([len(riders), pc.sum(riders['revision']), riders['revision'].null_count])
types = dict(zip(nights.schema.names, nights.schema.types))`,
    types: ['int64', 'bool', 'bool', 'date32[day]', 'time32[ms]', 'timestamp[ms, tz=UTC]'],
  },
};

it.each(Object.entries(readers))('%s reads what DuckDB reads, with types that have no value too', async (_, one) => {
  const script = scriptWith(one.reader);
  const reading = script.split('\n').find((line) => line.startsWith('nights = '))!;
  const columns = "'revision secret show_neighbourhood day meet_time valid_to'.split()";
  const more = `
def say(values): print('=', *values, sep='\\t')
${reading.replaceAll('nights', 'riders')}${one.sums}
say([types[name] for name in ${columns}])`;
  const options = { cwd: dir, maxBuffer: 16 << 20 };
  const { stdout } = await promisify(execFile)(join(programs, 'python'), ['-c', script + more], options);
  const [nights, riders, types] = stdout
    .split('\n')
    .flatMap((line) => (line.startsWith('=\t') ? [line.split('\t').slice(1)] : []));
  expect([nights, riders]).toEqual(known.map((cells) => (cells as unknown[]).map(String)));
  expect(types).toEqual(one.types);
  // What the example's own lines print: the nights that are on.
  expect(stdout).toContain('346');
});
