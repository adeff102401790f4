import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { wholeOption } from '../../../services/cli/commands.ts';
import { commandLine } from '../../../services/command-line.ts';
import { quietIo } from '../../support/processes/heard.ts';
import { said } from '../../support/processes/ran.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { portlandDirectory as portland } from '../../support/worlds/portland.ts';

/** A line as typed, `''` being an empty word. */
async function told(line: string, env: Record<string, string> = {}) {
  const args = line.split(' ').flatMap((word) => (word === '' ? [] : [word === "''" ? '' : word]));
  return said(args, env);
}

it('--help lists every command, and each has an example, --json and the exit codes it uses', async () => {
  const { commands } = commandLine(quietIo, {});
  const { code, out } = await told('--help');
  expect(code).toBe(0);
  const withThree: string[] = [];
  for (const group of commands) {
    expect(out).toContain(`\n  ${group.name()} `);
    for (const command of group.commands.length > 0 ? group.commands : [group]) {
      const words = command === group ? group.name() : `${group.name()} ${command.name()}`;
      const help = await told(`${words} --help`);
      expect(help.code).toBe(0);
      expect(help.out).toMatch(new RegExp(`Examples?:\\n +.*npx ride-calendar ${words}`));
      expect(help.out).toContain('--json');
      expect(help.out).toContain('Exit codes:');
      if (/^ {2}3 {2}/m.test(help.out)) withThree.push(words);
    }
  }
  expect(withThree).toEqual(['lag', 'verify', 'archive check']);
});

it('a number may be the least and the largest of an option’s, written in digits alone', () => {
  const { parseArg } = wholeOption('--n <n>', 'a number', 2, 10);
  expect(['2', '10'].map((text) => parseArg!(text, undefined))).toEqual([2, 10]);
  for (const text of ['1', '11', '1e1', ' 3', '0x3', ''])
    expect(() => parseArg!(text, undefined)).toThrow('from 2 to 10');
});

it('--version says the version and the commit', async () => {
  const commit = expect.stringMatching(/^\d+\.\d+\.\d+ \S+$/);
  expect(await told('--version')).toEqual({ code: 0, out: commit, err: '' });
});

const folder = testFolder();
for (const name of ['note', 'second']) writeFileSync(join(folder, name), '/me/nights r0020 more');
const noName = "the folder's name is empty";
const noKafka = 'KAFKA_BROKERS is missing';
const notEmpty = 'is not empty (it holds note and 1 more), want a new or empty folder';
const asOf = 'replay --as-of 2015-06-13T19:00:00Z';
const day = '/metros/portland/days/2015-06-13';

const wrong: [env: Record<string, string>, usage: [line: string, words: string][]][] = [
  [
    {},
    [
      ['', 'Usage:'],
      ['simualte', '(Did you mean simulate?)'],
      ['simulate --rate 0.5', 'a whole number'],
      ['simulate --riders 5000001', 'Want a whole number from 1 to 5000000.'],
      ['simulate --rides 1000001', 'Want a whole number from 1 to 1000000.'],
      ['simulate --days 3651', 'Want a whole number from 1 to 3650.'],
      ['topics --partitions 1001', 'Want a whole number from 1 to 1000.'],
      ['lag --timeout 86401', 'Want a whole number from 0 to 86400.'],
      ['simulate --around 2026-02-30', 'Want a date'],
      ['topics extra', 'too many arguments'],
      ['archive save', 'missing required argument'],
      ['api', 'REDIS_URL is missing'],
      ['projector', 'REDIS_URL is missing'],
      ['projector', noKafka],
      ['simulate', noKafka],
      ['records publish', noKafka],
      ['records publish /nope.jsonl', "the file /nope.jsonl can't be read (ENOENT)"],
      [`records publish ${folder}`, 'is a folder, want a file of JSON Lines'],
      ['records check /nope', 'there is no /nope'],
      [`records check ${folder} --archive ${folder}`, 'want a file or --archive, not both'],
      ['records print --from x', '--from is "x"'],
      [`records print --archive ${portland} --follow`, 'does not grow, want Kafka'],
      ["archive check ''", `Cannot run archive check: ${noName} (an unset variable?)`],
      ['archive check /nope', 'Cannot read the archive /nope: there is no such folder'],
    ],
  ],
  [
    { KAFKA_BROKERS: '127.0.0.1:1' },
    [
      [`archive save ${folder}`, 'holds other files, want a new or empty folder, or an archive'],
      [`archive save ${folder}/note`, "can't be read (ENOTDIR), want a new or empty folder"],
      [`simulate --archive ${folder}`, notEmpty],
    ],
  ],
  [
    { REDIS_URL: 'redis://127.0.0.1:1', CALENDAR_PAGE: 'on' },
    [['api', 'Cannot use setting CALENDAR_PAGE: the page lists the metros']],
  ],
  [{ KAFKA_PARTITIONER: 'other' }, [[`records publish --archive ${folder}/new`, 'KAFKA_PARTITIONER is other for']]],
  [
    { PORT: '0', LOG_LEVEL: 'x' },
    ['PORT', 'LOG_LEVEL'].map((name) => ['history /rides/x', `Cannot use setting ${name}: `]),
  ],
  [{ AUTH_REDIS_URL: '' }, [['sign-in list', 'list: AUTH_REDIS_URL is missing']]],
  [
    { AUTH_REDIS_URL: 'redis://127.0.0.1:1' },
    [
      ['sign-in end', 'end: want --rider or --client, or both'],
      ['sign-in list --rider=', 'list: --rider is empty'],
    ],
  ],
  [
    { ARCHIVE_DIR: portland },
    [
      [`export ${folder}`, notEmpty],
      ['rejected list --place metros/0@99', 'there is no rejected record at --place metros/0@99'],
      ['rejected list --reason x', 'there is no rejected record of --reason "x", but of "key disagrees with value"'],
      ['why rides', 'topic rides, key does not match its pattern: field ride: want ^[a-z0-9]{4,32}$'],
      ['why nights/4711', 'topic nights, key does not match its pattern: want ride/day'],
      ['why relations/me/me', 'topic relations, rider related to themself'],
      ['history', 'want a PATH or --from-file'],
      ['history --from-file nosuch', "--from-file nosuch can't be read (ENOENT)"],
      ['history --from-file test/README.md', '--from-file test/README.md, line 1: "#" is no path'],
      [`history --from-file ${folder}/note`, 'note, line 1: it has more than a path and a rider'],
      ['history /nights', 'is no path of the interface'],
      ['history /me/nights', 'want --rider ID'],
      ['history /metros/portland/days/2015-6-13', 'is a 400: day is not a date, YYYY-MM-DD'],
      ['changes --from 2020-01-02T00:00:00Z --to 2020-01-01T00:00:00Z', '--to is before --from'],
      ['replay', 'want either --as-of TIME or --offsets FILE'],
      ['replay --offsets x --by changed_at', '--offsets says by what it goes, leave --by out'],
      ['replay --offsets package.json', 'is no file of offsets (as_of)'],
      ['replay --offsets /nope', "--offsets /nope can't be read (ENOENT)"],
      [`replay --offsets ${folder}/note`, 'is not JSON, want a file that replay --as-of TIME --json wrote'],
      [`${asOf} --serve --rider r@`, '--rider is not a rider id'],
      [`${asOf} --rider r0020`, '--rider is of --get PATH or --serve'],
      [`${asOf} --get ${day} --serve`, 'want --serve or --get PATH, not both'],
    ],
  ],
  [{ ARCHIVE_DIR: portland, HOST: '0.0.0.0' }, [[`${asOf} --serve`, 'HOST is "0.0.0.0", want a loopback']]],
];

describe('wrong usage exits 2 and says what would be right', () => {
  it.each(wrong.flatMap(([env, usage]) => usage.map(([line, words]) => ({ env, line, words }))))(
    '$env $line',
    async ({ env, line, words }) => {
      const { code, out, err } = await told(line, env);
      expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringContaining(words) });
      expect(err).not.toMatch(/me\/me|^ +at /m);
      expect(readdirSync(folder)).toEqual(['note', 'second']);
    },
  );
});
