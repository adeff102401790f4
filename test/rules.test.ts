import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** docs/rules.md and the comments that cite it, as CONTRIBUTING.md says how. */

const root = fileURLToPath(new URL('..', import.meta.url));
const notOurs = ['**/node_modules', '.cache', 'dist', '.ride-calendar'];
const files = globSync('**/*.{ts,js,css,json,avsc,md,yaml,Dockerfile}', { cwd: root, exclude: notOurs })
  .filter((path) => path !== 'package-lock.json')
  .map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }));
const rulesText = files.find(({ path }) => path === 'docs/rules.md')!.text;

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

const headings = (level: string): string[] =>
  [...rulesText.matchAll(new RegExp(`^${level} (.+)$`, 'gm'))].map((match) => anchorOf(match[1]!));
const groups = headings('##');
const rules = headings('###');

/** Anchors that a text cites: `docs/rules.md#past`, or several as `docs/rules.md#past, #posted`. */
function cited(text: string): string[] {
  const citations = text.match(/docs\/rules\.md#[\w-]+(?:, #[\w-]+)*/g) ?? [];
  return citations.flatMap((citation) => [...citation.matchAll(/#([\w-]+)/g)].map((match) => match[1]!));
}

describe('the rules', () => {
  it('have an anchor each, and are all in the table of contents', () => {
    expect(rules.length).toBeGreaterThan(100);
    expect(new Set([...groups, ...rules]).size).toBe(groups.length + rules.length);
    const listed = rulesText.split('\n').filter((line) => line.startsWith('| ['));
    const linked = listed.flatMap((line) => [...line.matchAll(/\]\(#([\w-]+)\)/g)].map((match) => match[1]!));
    expect(linked.toSorted()).toEqual([...groups, ...rules].toSorted());
  });

  it('are cited by a test each', () => {
    const tests = files.filter(({ path }) => /^test\/(?:.+\.test\.ts$|contracts\/|properties\/)/.test(path));
    const inTests = new Set(tests.flatMap(({ text }) => cited(text)));
    expect(rules.filter((anchor) => !inTests.has(anchor))).toEqual([]);
  });

  it('are cited by code that implements them, each', () => {
    const code = files.filter(({ path }) => !path.startsWith('test/') && !/\.(?:md|json)$/.test(path));
    const inCode = new Set(code.flatMap(({ text }) => cited(text)));
    // It is about releases: no code decides it.
    expect(rules.filter((anchor) => !inCode.has(anchor))).toEqual(['schema-changes']);
  });
});

describe('citations', () => {
  it('are of rules that there are', () => {
    const all = files.flatMap(({ path, text }) => cited(text).map((anchor) => ({ path, anchor })));
    expect(all.length).toBeGreaterThan(rules.length);
    expect(all.filter(({ anchor }) => ![...groups, ...rules].includes(anchor))).toEqual([]);
  });

  it('stand on one line each, so that a search for an anchor finds them', () => {
    const broken = /docs\/rules\.md#[\w-]+(?:, #[\w-]+)*,[\s*/]*\n[\s*/]*#/;
    expect(files.filter(({ text }) => broken.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('are of documents that a clone has', () => {
    const elsewhere = new RegExp(`\\b(?:${['DES', 'IGN'].join('')}|${['INTER', 'FACE'].join('')})\\b`);
    expect(files.filter(({ text }) => elsewhere.test(text)).map(({ path }) => path)).toEqual([]);
  });
});
