import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import avro, { type Schema } from 'avsc';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ArchiveManifest } from '../../../../infra/archive/archive-manifest.ts';
import { ArchiveWriter } from '../../../../infra/archive/archive-writer.ts';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { registerSchema } from '../../../../infra/registry/schema-registry.ts';
import { topicSchemas } from '../../../../schemas/avro/avro-types.ts';
import { topicNames } from '../../../../schemas/events/records.ts';
import { archiveLoad } from '../../../../services/wiring/archive/archive-load.ts';
import type { Register } from '../../../../services/wiring/archive/raw-values.ts';
import { TestArchive } from '../../../support/archive.ts';
import { KeptLog } from '../../../support/kept-log.ts';
import { sampleRecords } from '../../../support/records.ts';

// docs/rules.md#raw-values

const { signal } = new AbortController();
/** A schema of riders that has a field more than ours. */
const widerRiders = {
  ...(topicSchemas.riders as object),
  fields: [...(topicSchemas.riders as { fields: object[] }).fields, { name: 'shoe_size', type: 'double' }],
} as unknown as Schema;
const widerText = JSON.stringify(widerRiders);

/** A registry that takes schemas: the first gets id 501. */
const registered: { path: string; schema: string; authorization: string | undefined }[] = [];
let refuse = false;
let url = '';
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    response.writeHead(refuse ? 409 : 200, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
    if (refuse) return response.end('{"error_code":409,"message":"Schema being registered is incompatible"}');
    const { schema } = JSON.parse(body) as { schema: string };
    registered.push({ path: `${request.method} ${request.url}`, schema, authorization: request.headers.authorization });
    return response.end(JSON.stringify({ id: 500 + registered.length }));
  });
});
const register: Register = (topic, schema) => registerSchema({ url, subject: `${topic}-value`, schema, signal });

beforeAll(async () => {
  const [port] = await freePorts(1);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  url = `http://user:pass%20word@127.0.0.1:${port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  registered.length = 0;
  refuse = false;
});

const body = (key: string) =>
  avro.Type.forSchema(structuredClone(widerRiders)).toBuffer({ ...sampleRecords.riders, rider: key, shoe_size: 38.5 });
function confluent(id: number, key: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, body(key)]);
}

/** A manifest as `archive save` writes it, of an archive whose records it says nothing of. */
const manifestOf = (schemas: ArchiveManifest['schemas']): ArchiveManifest => ({
  ...{ version: 1, prefix: 'ride-calendar.', log: null, exact_since: null, saved_until: null },
  topics: Object.fromEntries(topicNames.map((topic) => [topic, { hash_schema: '', partitions: [] }])),
  rejected: [],
  schemas,
});

/** An archive of riders with such values, by key, and a manifest that has schema 17. */
async function archiveOf(values: Record<string, Buffer | null>, manifest = true): Promise<TestArchive> {
  const archive = await TestArchive.make();
  await archive.createTopics(1);
  const writer = new ArchiveWriter({ dir: archive.dir });
  for (const [offset, [key, raw]] of Object.entries(values).entries()) {
    const value = { ...sampleRecords.riders, rider: key };
    writer.append('riders', { partition: 0, offset, timestampMs: offset, key, value, rawValue: raw });
  }
  await writer.close();
  const schemas = [{ id: 17, fingerprint: '0'.repeat(16), schema: widerText, references: [] }];
  if (manifest) await writeFile(join(archive.dir, 'manifest.json'), JSON.stringify(manifestOf(schemas)));
  return archive;
}

const load = (archive: TestArchive, log: KeptLog, to: Register | null) => {
  const options = { signal, append: false, keepPartitions: false };
  return archiveLoad({ dir: archive.dir }, { publisher: log, log, register: to }, options);
};

test('a load registers the schemas of raw values anew, once, and rewrites their ids; others stay as they came', async () => {
  const single = Buffer.concat([Buffer.from('c301', 'hex'), Buffer.alloc(8, 7), body('c')]);
  await using archive = await archiveOf({ a: confluent(17, 'a'), b: confluent(17, 'b'), c: single });
  const log = new KeptLog(1);
  await load(archive, log, register);
  expect(log.partition('riders', 0).map((one) => one!.value)).toEqual([
    confluent(501, 'a'),
    confluent(501, 'b'),
    single,
  ]);
  const authorization = `Basic ${Buffer.from('user:pass word').toString('base64')}`;
  expect(registered).toEqual([{ path: 'POST /subjects/riders-value/versions', schema: widerText, authorization }]);
});

test('a load of such values without SCHEMA_REGISTRY_URL is refused before anything is published', async () => {
  await using archive = await archiveOf({ a: confluent(17, 'a') });
  const log = new KeptLog(1);
  await expect(load(archive, log, null)).rejects.toThrow('set SCHEMA_REGISTRY_URL');
  expect(log.all('riders')).toEqual([]);
});

test('a value whose schema the manifest lacks is named, with its place', async () => {
  for (const manifest of [true, false]) {
    await using archive = await archiveOf({ a: confluent(18, 'a') }, manifest);
    await expect(load(archive, new KeptLog(1), register)).rejects.toThrow(
      'Cannot load riders/0@0 of the archive: its value’s schema, of id 18, is not in manifest.json'.replace('’', "'"),
    );
  }
});

test('a registry that refuses a schema is quoted, without credentials', async () => {
  await using archive = await archiveOf({ a: confluent(17, 'a') });
  refuse = true;
  const failure = await load(archive, new KeptLog(1), register).catch((error: Error) => error.message);
  expect(failure).toBe(
    `Cannot register a schema for riders-value: the schema registry at ${url.replace(/\/\/.*@/, '//')} answered 409: Schema being registered is incompatible`,
  );
});
