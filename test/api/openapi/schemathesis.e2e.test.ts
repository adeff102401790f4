import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { type AppDeps, createApp } from '../../../api/http/app.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import { freePort } from '../../../infra/local/free-port.ts';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { projecting } from '../../support/processes/service.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { portlandKeys, readPortland } from '../../support/worlds/portland.ts';
import { runSchemathesis } from './schemathesis.ts';

/** The HTTP application over Portland's views, asked whatever Schemathesis makes of the OpenAPI document. */

let app: FastifyInstance;
let baseUrl: string;
const faults: unknown[] = [];

/** Inputs that find something in Portland. */
const found: Record<string, unknown> = {
  day: '2015-06-13',
  ride: 'sh20r6756',
  from: '2015-06-01',
  to: '2015-06-30',
};

function documentWith(examples: Record<string, unknown>): Buffer {
  const document = openApiDocument(baseUrl) as { paths: Record<string, { get: { parameters?: Parameter[] } }> };
  for (const { get } of Object.values(document.paths)) {
    for (const parameter of get.parameters ?? []) parameter.example = examples[parameter.name] ?? parameter.example;
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

interface Parameter {
  name: string;
  example: unknown;
}

beforeAll(async () => {
  const reader = (await portlandViews()).reader();
  const port = await freePort();
  baseUrl = `http://127.0.0.1:${port}/api`;
  const deps: AppDeps = {
    baseUrl,
    cache: new ViewCache(reader),
    // In Portland's fullest month.
    calendarNowMs: () => Date.parse('2015-06-13T19:00:00Z'),
    cacheSeconds: 60,
    checker: { check: (token) => token },
    openApi: documentWith(found),
    onFault: (cause) => faults.push(cause),
  };
  app = createApp(deps);
  await app.listen({ port, host: '127.0.0.1' });
});

afterAll(() => app?.close());

it('whatever is asked, the answer is as the OpenAPI document says, and never a failure', async () => {
  const { passed, output } = await runSchemathesis({
    baseUrl,
    developerKey: portlandKeys.live,
    accessToken: 'r0020',
    examplesMax: 60,
  });
  expect(passed, output).toBe(true);
  // All but openapi.json itself, which it starts from.
  expect(output).toContain('Tested: 6');
  expect(faults).toEqual([]);
}, 300_000);
