import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { afterAll, expect, it } from 'vitest';
import { openApiDocument } from '../../../api/openapi/openapi.ts';

/** What well-kept tools say of the OpenAPI document: linters, and a generated client. Nothing leaves the machine. */

const root = path.resolve(import.meta.dirname, '../../..');
const document = openApiDocument('https://rides.example.org/calendar/api');
// Inside the checkout, so that the client finds openapi-fetch.
await mkdir(path.join(root, '.cache'), { recursive: true });
const folder = await mkdtemp(path.join(root, '.cache/openapi-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a tool of a dependency; resolves with all it printed, however it ended. */
function tool(dependency: string, bin: string, args: string[]): Promise<string> {
  const script = path.join(path.dirname(createRequire(import.meta.url).resolve(`${dependency}/package.json`)), bin);
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { cwd: folder, env }, (_, said, errors) => resolve(said || errors));
  });
}

// docs/rules.md#openapi-document
it("Redocly's recommended rules find nothing", async () => {
  const file = path.join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(document));
  const said = await tool('@redocly/cli', 'bin/cli.js', ['lint', '--extends=recommended', '--format=json', file]);
  expect(JSON.parse(said)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 } });
});

it("Spectral's rules for OpenAPI find nothing", async () => {
  const spectral = new spectralCore.Spectral();
  spectral.setRuleset({ extends: spectralRulesets.oas as RulesetDefinition });
  expect(await spectral.run(JSON.stringify(document))).toEqual([]);
});

it('openapi-typescript makes a client with which the guide’s program compiles, strictly', async () => {
  await writeFile(path.join(folder, 'client.ts'), astToString(await openapiTypescript(JSON.stringify(document))));
  const guide = await readFile(new URL('../../../docs/tutorial-website.md', import.meta.url), 'utf8');
  const ofGuide = /^```ts\n(.*?)^```/ms.exec(guide)![1]!.replace('./calendar.ts', './client.ts');
  await writeFile(path.join(folder, 'guide.ts'), ofGuide);
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  options.push('--allowImportingTsExtensions', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable');
  options.push('--module', 'nodenext', '--types', 'node', '--skipLibCheck', '--ignoreConfig');
  const said = await tool('typescript-7', 'bin/tsc', [...options, 'guide.ts']);
  expect(said).toBe('');
});
