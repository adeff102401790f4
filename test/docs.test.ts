import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { auditEvents } from '../api/ports/audit-trail.ts';
import { commandLine } from '../services/command-line.ts';
import { hidingRules } from '../services/operate/why-hidden.ts';
import { settingRules } from '../services/settings/settings-schema.ts';
import { quietIo } from './support/processes/heard.ts';
import { allMetrics } from './support/processes/metrics.ts';

// What the documents say that can be looked up: links, tests, settings, metrics, commands, dependencies.

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const documents = globSync('**/*.md', { cwd: root, exclude: ['**/node_modules', '.cache', 'dist', '.ride-calendar'] });

/** The section of a document under a heading, up to the next one. */
function section(path: string, heading: string): string {
  const text = read(path);
  const start = `\n${text}`.indexOf(`\n${heading}\n`);
  if (start === -1) throw new Error(`${path} has no heading ${heading}`);
  const next = text.slice(start + heading.length + 2).search(/\n#+ /);
  return next === -1 ? text.slice(start) : text.slice(start, start + heading.length + 2 + next);
}

/** Names in code style in the first cells of tables, or before the colon of lists' items. */
const firstCells = (text: string): string[] =>
  text
    .split('\n')
    .flatMap((line) => /^(?:\| ([^|]+)|\* ((?:`[^`]+`[ ,·]*)+):)/.exec(line)?.slice(1).find(Boolean) ?? [])
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!));

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

describe('the documents', () => {
  it('name this release, and no other, where they upgrade', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const pages = ['infra/deploy/compose.md', 'docs/tasks.md', 'docs/first-production-day.md'].map(read).join('');
    const named = [...pages.matchAll(/(?:VERSION=|ln -sfn |ride-calendar-|\/)(\d+\.\d+\.\d+)\b/g)].map(
      ([, found]) => found,
    );
    expect(named.length).toBeGreaterThan(4);
    expect(new Set(named)).toEqual(new Set([version]));
  });

  it('link to files and headings that are there', () => {
    const links = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, to, anchor]) => ({
        path,
        to,
        anchor,
      })),
    );
    expect(links.filter(({ anchor }) => anchor).length).toBeGreaterThan(30);
    const anchors = (path: string): string[] =>
      [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
    const isThere = ({ path, to, anchor }: (typeof links)[number]): boolean => {
      const file = to === '' ? path : join(dirname(path), to!);
      return existsSync(join(root, file)) && (!anchor || anchors(file).includes(anchor));
    };
    expect(links.filter((link) => !isThere(link))).toEqual([]);
  });

  it('name files of code that are there, in any folder', () => {
    const sources = globSync('*/**/*.ts', { cwd: root, exclude: ['**/node_modules', '.cache', 'dist'] });
    // `x.test.ts` stands for any. The projector's specification names its tests by their paths alone.
    const name = /`(?:\.\.\/)*((?!x\.)[\w/-][\w/.-]*\.ts)`|\b(test\/[\w/.-]+\.ts)\b/g;
    const named = documents
      .filter((path) => path !== 'CHANGELOG.md')
      .flatMap((path) => [...read(path).matchAll(name)].map(([, quoted, plain]) => ({ path, file: quoted ?? plain! })));
    expect(named.length).toBeGreaterThan(200);
    const isThere = (file: string): boolean => sources.some((source) => `/${source}`.endsWith(`/${file}`));
    expect(named.filter(({ file }) => !isThere(file))).toEqual([]);
  });

  it('have commands and options that there are', () => {
    const commands = commandLine(quietIo, {}).commands.flatMap((command) =>
      command.commands.length === 0
        ? [{ name: command.name(), options: command.options }]
        : command.commands.map((sub) => ({ name: `${command.name()} ${sub.name()}`, options: sub.options })),
    );
    const used = documents.flatMap((path) =>
      [
        ...read(path).matchAll(/^(?:.*[^`\w-])?(?:npx )ride-calendar ([a-z]+(?:-[a-z]+)*(?: [a-z]+)?)([^\n`|;&>]*)/gm),
      ].map(([, words, rest]) => ({ words: words!, given: rest!.match(/(?<= )--[a-z-]+/g) ?? [] })),
    );
    expect(used.length).toBeGreaterThan(5);
    const lacking = used.flatMap(({ words, given }) => {
      const command = commands.find(({ name }) => [words, words.split(' ')[0]].includes(name));
      if (command === undefined) return [words];
      const known = ['--help', ...command.options.map(({ long }) => long)];
      return given.filter((option) => !known.includes(option)).map((option) => `${command.name} ${option}`);
    });
    expect(lacking).toEqual([]);
  });
});

describe('what an operator reads', () => {
  // The code's own words, and those that the documents' glossary has another word for.
  const leak =
    /\b(?:tags?|fence[ds]?|fold(?:s|ed|ing)?|lanes?|stamp(?:s|ed)?|in doubt|bad|aside|upstream|mend(?:s|ed)?|embedded|facts)\b/gi;

  it('in --help has none of the code’s own words', () => {
    const all = [commandLine(quietIo, {})].flatMap((program) => [
      program,
      ...program.commands.flatMap((command) => [command, ...command.commands]),
    ]);
    expect(all.length).toBeGreaterThan(25);
    expect(all.flatMap((command) => command.helpInformation().match(leak) ?? [])).toEqual([]);
  });

  it('in log lines, errors and notes has none either', () => {
    const said: string[] = [];
    const collect = (node: ts.Node): void => {
      // Sentences, not names; and no script of Redis's.
      if (ts.isStringLiteralLike(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node))
        if (/\S\s+\S/.test(node.text) && !/\blocal \w+|redis\.p?call/.test(node.text)) said.push(node.text);
      ts.forEachChild(node, collect);
    };
    for (const path of globSync('{projector,api,infra,services}/**/*.ts', { cwd: root, exclude: ['**/node_modules'] }))
      collect(ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest));
    expect(said.length).toBeGreaterThan(1_000);
    expect(said.filter((words) => words.match(leak))).toEqual([]);
  });
});

describe('the guides', () => {
  it('have every setting, and no other', () => {
    expect(firstCells(section('docs/settings.md', '# Settings')).sort()).toEqual(Object.keys(settingRules).sort());
  });

  it('have every metric of our own, and no other', async () => {
    const names = (await allMetrics().getMetricsAsJSON()).map(({ name }) => name);
    const ours = names.filter((name) => name.startsWith('ride_calendar_')).sort();
    expect(firstCells(section('docs/metrics.md', '## Metrics')).sort()).toEqual(ours);
  });

  it('explain each word in italics of the page on how it works in its glossary', () => {
    const text = read('docs/concepts.md');
    const italics = [...text.matchAll(/(?<![*\w])\*(\w[^*\n]*)\*(?!\*)/g)].map((match) => match[1]!);
    const words = section('docs/concepts.md', '## Glossary')
      .split('\n')
      .flatMap((line) => /^\* \*\*(.+)\*\*:/.exec(line)?.[1]?.split(',') ?? [])
      .map((word) => word.trim());
    const explained = ['italics', 'tombstone', 'unresolved'];
    expect(italics.length).toBeGreaterThan(8);
    expect(italics.filter((word) => !words.includes(word) && !explained.includes(word))).toEqual([]);
  });

  it('say what to do about each reason of why, and no other', () => {
    const reasons = firstCells(section('docs/why-is-my-ride-missing.md', '## Reasons')).filter(
      (cell) => cell !== 'why',
    );
    expect(reasons.sort()).toEqual(Object.keys(hidingRules).sort());
  });

  it('have the audit trail event by event, in its words, with its causes', () => {
    const rows = [...read('docs/audit-trail.md').matchAll(/^\* `(\w+)`: (.+?)(?: \((`.+`)\))?$/gm)];
    const documented = rows.map(([, event, when, causes]) => [event, when!.toLowerCase(), causes?.match(/\w+/g) ?? []]);
    const events = Object.entries(auditEvents);
    expect(documented).toEqual(events.map(([event, { when, causes }]) => [event, when.toLowerCase(), causes]));
  });

  it('have a reason for every dependency, and no other', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, object>;
    const wanted = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !name.startsWith('@types/'));
    const named = section('ARCHITECTURE.md', '## Dependencies')
      .split('\n')
      .flatMap((line) => /^\* \*\*(.+)\*\*:/.exec(line)?.[1] ?? [])
      .flatMap((names) => names.replaceAll(/\([^)]*\)/g, '').split(','))
      .map((name) => name.trim())
      .filter((name) => !name.startsWith('@types/'));
    expect(named.sort()).toEqual(wanted.sort());
  });
});
