import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../../infra/local/free-port.ts';
import { Checkout, root } from '../../support/processes/guide.ts';
import { ExportInDuckDb } from '../../support/servers/duckdb.ts';
import { pythonWith } from '../../support/servers/python-package.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { copyPortland } from '../../support/worlds/portland.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const text = readFileSync(join(root, 'docs/data.md'), 'utf8');
const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language, text]) => ({ language, text: text! }));

const checkout = new Checkout();
beforeAll(async () => {
  await copyPortland(join(checkout.dir, 'test/data/portland'));
  symlinkSync(join(root, 'node_modules'), join(checkout.dir, 'node_modules'));
});
afterAll(() => checkout.close());

/** Nights that were called off, of timestamps that no calendar has. */
async function archiveOfAnyTime(): Promise<string> {
  const archive = await TestArchive.make(1);
  const value = { ...sampleRecords.nights, status: 'CANCELLED', changed_at: 2n ** 63n - 1n } as const;
  const times = [-(2n ** 63n), 1_700_000_000_000_000_000n];
  await archive.append(
    'nights',
    0,
    times.map((timestampMs) => ({ key: 'ride0001/2015-06-13', value, timestampMs })),
  );
  return archive.dir;
}

/** On a port that is free. */
const elsewhere = async (text: string): Promise<string> => text.replace('PORT=8090', `PORT=${(await freePorts(1))[0]}`);

const portland = { ARCHIVE_DIR: 'test/data/portland' };
const isServing = (text: string): boolean => text.includes('--serve');
const needsKafka = (text: string): boolean => text.includes('KAFKA_BROKERS=');

it('the guide for data teams has commands that print what it says, SQL that finds something, and an example in Python that reads the archive', {
  timeout: 600_000,
}, async () => {
  const programs = await pythonWith('fastavro', '1.13.1');
  for (const [i, { language, text }] of blocks.entries()) {
    const next = blocks[i + 1];
    let out = '';
    if (language === 'sh' && isServing(text)) {
      await checkout.serve(await elsewhere(text), /As of 2015-06-13T19:00:00\.000Z/, portland);
    } else if (text.startsWith('python3 docs/')) {
      const python = (command: string) =>
        checkout.bash(command.replace('python3 docs/', `"${programs}/python" "${root}docs"/`));
      out = await python(text);
      // docs/rules.md#timestamps
      expect(await python(text.replace('test/data/portland', await archiveOfAnyTime()))).toMatch(
        /^0001-01-01T00:00:00\+00:00 .*\n9999-12-31T23:59:59.999000\+00:00 /,
      );
    } else if (language === 'sh' && !needsKafka(text)) {
      out = await checkout.bash(text, portland);
    } else if (language === 'sql') {
      using tables = await ExportInDuckDb.open(join(checkout.dir, 'portland-tables'));
      const statements = text.split(';').filter((statement) => statement.trim() !== '');
      for (const statement of statements) expect((await tables.rows(statement)).length).toBeGreaterThan(0);
    }
    if (out !== '' && next?.language === 'text') expect(out.trimEnd()).toBe(next.text.trimEnd());
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
