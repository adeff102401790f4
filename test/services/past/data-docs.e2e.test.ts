import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Checkout, Guide } from '../../support/processes/guide.ts';
import { root } from '../../support/processes/process.ts';
import { testStack } from '../../support/processes/test-stack.ts';
import { ExportInDuckDb } from '../../support/servers/duckdb.ts';
import { pythonWith } from '../../support/servers/python-package.ts';
import { copyPortland } from '../../support/worlds/portland.ts';

const tutorial = new Guide('tutorial-analyst.md');
const columnsPage = new Guide('export-columns.md').text;
const cellsOf = (line: string): string[] => line.slice(2, -2).split(' | ');

const portland = { ARCHIVE_DIR: 'test/data/portland' };
const open = testStack();
const checkout = open.use(new Checkout());
const exported = join(checkout.dir, 'portland-tables');
await copyPortland(join(checkout.dir, portland.ARCHIVE_DIR));
symlinkSync(join(root, 'node_modules'), join(checkout.dir, 'node_modules'));
await checkout.bash(tutorial.shell('ride-calendar export')[0]!);
const tables = open.use(await ExportInDuckDb.open(exported));

const questions = [...tutorial.text.matchAll(/^```sql\n(.*?)^```\n\n((?:\|[^\n]*\n)+)/gms)];

it.each(questions.map(([, sql, table]) => [sql!, table!]))(
  'the analyst’s tutorial shows what DuckDB answers: %s',
  async (sql, table) => {
    const [names, , ...rows] = table.trimEnd().split('\n').map(cellsOf);
    const got = await tables.rows(sql);
    expect(Object.keys(got[0]!)).toEqual(names);
    expect(got.map((row) => Object.values(row).map((cell) => String(cell ?? 'NULL')))).toEqual(rows);
  },
);

it('the analyst’s tutorial counts by as_of and as_of_each what replay answers at the instant', async () => {
  const replay = tutorial.shell('replay')[0]!;
  const { going_count } = JSON.parse(await checkout.bash(`cd portland-tables\n${replay}`)).nights[0];
  const instant = /--as-of (\S+)/.exec(replay)![1];
  for (const asOf of [`as_of('${instant}')`, `as_of_each(['${instant}']::TIMESTAMPTZ[])`]) {
    const [row] = await tables.rows(`SELECT going_count FROM ${asOf} WHERE ride = 'pp15r4855'`);
    expect(Number(row!.going_count)).toBe(going_count);
  }
  expect(going_count).toBeGreaterThan(0);
});

it('the analyst’s tutorial has no other blocks than these six questions and their commands', () => {
  expect([questions.length, tutorial.blocks('sql').length, tutorial.unrun()]).toEqual([6, 6, []]);
});

it('the list of columns has those of every table, in their order', async () => {
  const listed: Record<string, string[]> = {};
  let table = '';
  for (const [, name, columns] of columnsPage.matchAll(/^(?:\* \*\*`(\w+)`\*\*:| {2}\*) (`.+?`) \(/gm)) {
    table = name ?? table;
    listed[table] = [...(listed[table] ?? []), ...columns!.match(/\w+/g)!];
  }
  const versions = 'valid_from valid_to deleted partition offset timestamp revision changed_at'.split(' ');
  for (const [name, columns] of Object.entries(listed)) {
    const got = await tables.rows(`SELECT column_name FROM (DESCRIBE ${name})`);
    const isLog = !['going_counts', 'days', 'ride_pages'].includes(name);
    expect([name, got.map((row) => row.column_name)]).toEqual([name, [...columns, ...(isLog ? versions : [])]]);
  }
  expect(Object.keys(listed)).toHaveLength(10);
  const [, macro] = /^\* `as_of\(t\)`(.*?)\.$/ms.exec(columnsPage)!;
  const named = macro!.replace(/\(.*?\)/, '').match(/(?<=`)\w+(?=`)/g);
  const given = await tables.rows("SELECT column_name FROM (DESCRIBE FROM as_of('2015-06-13T19:00:00Z'))");
  expect(named).toEqual(given.map((row) => row.column_name));
  for (const column of versions) expect(columnsPage).toContain(`\`${column}\``);
});

it('docs/read_export_example.py reads what is in force with each of its libraries', { timeout: 600_000 }, async () => {
  const programs = await pythonWith('pandas', '3.1.1', 'pyarrow==26.0.1', 'polars==2.1.0', 'duckdb==2.0.0');
  const [row] = await tables.rows("SELECT count(*) AS n FROM nights WHERE valid_to IS NULL AND status = 'ON'");
  const printed = await checkout.bash(`"${programs}/python" "${root}docs/read_export_example.py"`);
  expect(printed.match(new RegExp(`\\b${row!.n}\\b`, 'g'))).toHaveLength(4);
});

// Blocks that show no output are those of --help, which test/e2e/help-examples.e2e.test.ts runs.
it('the guide for data teams has commands that print what it says, SQL that finds something, and an example in Python that reads the archive', {
  timeout: 600_000,
}, async () => {
  const programs = await pythonWith('fastavro', '1.13.1');
  const found = [...new Guide('data.md').text.matchAll(/^```(\w+)\n(.*?)^```/gms)];
  const blocks = found.map(([, language, text]) => ({ language, text: text! }));
  // As the guide says: delete the tutorial's first.
  rmSync(exported, { recursive: true });
  for (const [i, { language, text }] of blocks.entries()) {
    const next = blocks[i + 1];
    if (language === 'sql') {
      using tables = await ExportInDuckDb.open(exported);
      const statements = text.split(';').filter((statement) => statement.trim() !== '');
      for (const statement of statements) expect((await tables.rows(statement)).length).toBeGreaterThan(0);
    } else if (language === 'sh' && (next?.language === 'text' || text.includes('export ./portland-tables'))) {
      const python = text.replace('python3 docs/', `"${programs}/python" "${root}docs"/`);
      const out = await checkout.bash(python, portland);
      if (next?.language === 'text') expect(out.trimEnd()).toBe(next.text.trimEnd());
    }
  }
});
