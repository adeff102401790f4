import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Checkout, root } from '../../support/processes/guide.ts';
import { ExportInDuckDb } from '../../support/servers/duckdb.ts';
import { pythonWith } from '../../support/servers/python-package.ts';
import { copyPortland } from '../../support/worlds/portland.ts';

const text = readFileSync(join(root, 'docs/data.md'), 'utf8');
const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language, text]) => ({ language, text: text! }));

const checkout = new Checkout();
beforeAll(async () => {
  await copyPortland(join(checkout.dir, 'test/data/portland'));
  symlinkSync(join(root, 'node_modules'), join(checkout.dir, 'node_modules'));
});
afterAll(() => checkout.close());

const portland = { ARCHIVE_DIR: 'test/data/portland' };

// Blocks that show no output are those of --help, which test/e2e/help-examples.e2e.test.ts runs.
it('the guide for data teams has commands that print what it says, SQL that finds something, and an example in Python that reads the archive', {
  timeout: 600_000,
}, async () => {
  const programs = await pythonWith('fastavro', '1.13.1');
  for (const [i, { language, text }] of blocks.entries()) {
    const next = blocks[i + 1];
    if (language === 'sql') {
      using tables = await ExportInDuckDb.open(join(checkout.dir, 'portland-tables'));
      const statements = text.split(';').filter((statement) => statement.trim() !== '');
      for (const statement of statements) expect((await tables.rows(statement)).length).toBeGreaterThan(0);
    } else if (language === 'sh' && (next?.language === 'text' || text.includes('export ./portland-tables'))) {
      const python = text.replace('python3 docs/', `"${programs}/python" "${root}docs"/`);
      const out = await checkout.bash(python, portland);
      if (next?.language === 'text') expect(out.trimEnd()).toBe(next.text.trimEnd());
    }
  }
});

it('README’s request has the answer that it shows', { timeout: 60_000 }, async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const path = /'http:\/\/127\.0\.0\.1:8080\/api(\/[^']+)'/.exec(readme)![1]!;
  const shown = /^```json\n(.*?)^```/ms.exec(readme)![1]!;
  const asked = `npx ride-calendar replay --as-of 2015-06-13T19:00:00Z --get '${path}'`;
  expect(JSON.parse(await checkout.bash(asked, portland))).toEqual(JSON.parse(shown));
});

it('the page on missing rides shows what why says', { timeout: 60_000 }, async () => {
  const page = readFileSync(join(root, 'docs/why-is-my-ride-missing.md'), 'utf8');
  const [, asked, said] = /^```sh\n(.*?)\n```\n\n```text\n(.*?)^```/ms.exec(page)!;
  // A record that is hidden is exit code 1.
  expect(await checkout.bash(`${asked} || test $? = 1`)).toBe(said);
});
