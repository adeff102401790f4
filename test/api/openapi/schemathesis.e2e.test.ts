import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { createApp } from '../../../api/http/app.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import { freePort } from '../../../infra/local/free-port.ts';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { projecting } from '../../support/processes/service.ts';
import { cache, pythonWith } from '../../support/servers/python-package.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { portlandKeys, readPortland } from '../../support/worlds/portland.ts';

/**
 * The HTTP application over Portland's views, asked whatever Schemathesis (a fuzzer of APIs, from PyPI) makes of the OpenAPI
 * document: legal requests and others, whose answers must never be a 5xx and must be as the document says.
 */

const run = promisify(execFile);

/** Inputs that find something in Portland. */
const found: Record<string, unknown> = {
  day: '2015-06-13',
  ride: 'sh20r6756',
  from: '2015-06-01',
  to: '2015-06-30',
};

function documentOf(baseUrl: string): Buffer {
  type Parameter = { name: string; example: unknown };
  const document = openApiDocument(baseUrl) as { paths: Record<string, { get: { parameters?: Parameter[] } }> };
  for (const { get } of Object.values(document.paths)) {
    for (const parameter of get.parameters ?? []) parameter.example = found[parameter.name] ?? parameter.example;
  }
  return Buffer.from(JSON.stringify(document));
}

/** A view store that holds all of Portland, as the projector leaves it. */
async function portlandViews(): Promise<MemoryViewStore> {
  const store = new MemoryViewStore();
  const projector = await projecting(store.writer());
  const records = await readPortland();
  for (const topic of topicNames) {
    for (const record of records.filter((record) => record.topic === topic)) {
      const { partition, offset } = record;
      await projector.take({ topic, partition, records: [toLogRecord(record)], nextOffset: offset + 1 });
    }
  }
  await projector.settle();
  await projector.complete();
  return store;
}

/**
 * The range's rule (`to` at most 31 days after `from`) is beyond JSON Schema: there, inputs that fit it may be
 * refused.
 */
const config = ['/me/known', '/me/friends', '/me/flagged']
  .map(
    (operation) =>
      `[[operations]]\ninclude-path = "${operation}"\n[operations.checks.positive_data_acceptance]\nenabled = false\n`,
  )
  .join('\n');

/** What Schemathesis printed, however it ended. Installs it into .cache/ the first time. */
async function schemathesis(baseUrl: string): Promise<string> {
  const programs = await pythonWith('schemathesis', '4.32.5');
  const folder = await mkdtemp(path.join(cache, 'schemathesis-run-'));
  const configFile = path.join(folder, 'schemathesis.toml');
  await writeFile(configFile, config);
  const args = ['--config-file', configFile, 'run', `${baseUrl}/openapi.json`, '--no-color'];
  args.push('--header', `X-Api-Key: ${portlandKeys.live}`, '--header', 'Authorization: Bearer r0020');
  args.push('--max-examples', '25', '--seed', '1');
  try {
    return (await run(path.join(programs, 'schemathesis'), args, { cwd: folder, maxBuffer: 64 << 20 })).stdout;
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout?: string; stderr?: string; code?: unknown };
    throw new Error(`${stdout ?? ''}${stderr ?? ''}Schemathesis ended with ${code}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

it('whatever is asked, the answer is as the OpenAPI document says, and never a failure', async () => {
  const faults: unknown[] = [];
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}/api`;
  const app = createApp({
    baseUrl,
    cache: new ViewCache((await portlandViews()).reader()),
    // In Portland's fullest month.
    calendarNowMs: () => Date.parse('2015-06-13T19:00:00Z'),
    cacheSeconds: 60,
    checker: { check: (token) => token },
    openApi: documentOf(baseUrl),
    onFault: (cause) => faults.push(cause),
  });
  try {
    await app.listen({ port, host: '127.0.0.1' });
    // All but openapi.json itself, which it starts from.
    expect(await schemathesis(baseUrl)).toContain('Tested: 6');
    expect(faults).toEqual([]);
  } finally {
    await app.close();
  }
}, 300_000);
