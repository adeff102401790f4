import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../../../services/command-line.ts';
import { heard } from '../../../support/processes/heard.ts';
import { ExportInDuckDb } from '../../../support/servers/duckdb.ts';
import { portlandDirectory } from '../../../support/worlds/portland.ts';

const doc = (name: string): string => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8');
const run = (...args: string[]) => heard((io) => runCli([...args, '--archive', portlandDirectory], io, {}));
const cellsOf = (line: string): string[] => line.slice(2, -2).split(' | ');

let dir: string;
let tables: ExportInDuckDb;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'analyst-'));
  expect((await run('export', join(dir, 'tables'), '--personal')).code).toBe(0);
  tables = await ExportInDuckDb.open(join(dir, 'tables'));
});
afterAll(() => {
  tables?.[Symbol.dispose]();
  rmSync(dir, { recursive: true, force: true });
});

describe('the analyst’s tutorial', () => {
  const questions = [...doc('tutorial-analyst.md').matchAll(/^```sql\n(.*?)^```\n\n((?:\|[^\n]*\n)+)/gms)];

  it('asks six times, and shows each answer', () => {
    expect(questions).toHaveLength(6);
    expect(doc('tutorial-analyst.md').match(/^```sql/gm)).toHaveLength(6);
  });

  it.each(questions.map(([, sql, table]) => [sql!, table!]))('shows what DuckDB answers: %s', async (sql, table) => {
    const [names, , ...rows] = table.trimEnd().split('\n').map(cellsOf);
    const got = await tables.rows(sql);
    expect(Object.keys(got[0]!)).toEqual(names);
    expect(got.map((row) => Object.values(row).map((cell) => String(cell ?? 'NULL')))).toEqual(rows);
  });

  it('counts by as_of_each what replay answers at each of the instants', async () => {
    const list = "['2015-06-01T00:00:00Z', '2015-06-08T00:00:00Z']::TIMESTAMPTZ[]";
    const rows = await tables.rows(`SELECT going_count FROM as_of_each(${list}) WHERE ride = 'pp15r4855'`);
    for (const [i, instant] of ['2015-06-01T00:00:00Z', '2015-06-08T00:00:00Z'].entries()) {
      const { out } = await run('replay', '--as-of', instant, '--get', '/rides/pp15r4855');
      expect(Number(rows[i]!.going_count)).toBe(JSON.parse(out[0]!).nights[0].going_count);
      expect(Number(rows[i]!.going_count)).toBeGreaterThan(0);
    }
  });
});

it('the list of columns has those of every table, in their order', async () => {
  const listed: Record<string, string[]> = {};
  let table = '';
  for (const line of doc('export-columns.md').match(/^\| (`\w+`)? ?\| `.*$/gm)!) {
    const [name, columns] = cellsOf(line.replace(/^\| \|/, '|  |'));
    if (name!.trim()) table = name!.replaceAll('`', '');
    listed[table] = [...(listed[table] ?? []), ...columns!.match(/\w+/g)!];
  }
  const versions = 'valid_from valid_to deleted partition offset timestamp revision changed_at'.split(' ');
  for (const [name, columns] of Object.entries(listed)) {
    const got = await tables.rows(`SELECT column_name FROM (DESCRIBE ${name})`);
    const isLog = !['going_counts', 'days', 'ride_pages'].includes(name);
    expect([name, got.map((row) => row.column_name)]).toEqual([name, [...columns, ...(isLog ? versions : [])]]);
  }
  expect(Object.keys(listed)).toHaveLength(10);
  for (const column of versions) expect(doc('export-columns.md')).toContain(`\`${column}\``);
});
