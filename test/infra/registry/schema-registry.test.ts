import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SchemaAwayError, schemaRegistry } from '../../../infra/registry/schema-registry.ts';
import { listening } from '../../support/servers/listening.ts';

/** A registry on a free port; `paths` lists what was asked. */
async function registryOf(answer: RequestListener, timeoutMs?: number) {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url!);
    answer(request, response);
  });
  const { url, close } = await listening(server);
  onTestFinished(close);
  return { registry: schemaRegistry({ url, ...(timeoutMs && { timeoutMs }) }), paths, url };
}

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' }).end(JSON.stringify(body));

const away = (url: string, what: string) => new SchemaAwayError(`the schema registry at ${url} ${what}`);

const referring = { schema: 'top', references: [{ name: 'b', subject: 'b', version: 2 }] };

describe('a schema id', () => {
  // docs/rules.md#schema-registry
  test('is looked up below the path that the URL has', async () => {
    const { url, paths } = await registryOf((_, response) => json(response, 200, { schema: '"int"' }));
    const registry = schemaRegistry({ url: `${url}/apis/ccompat/v7/` });
    expect(await registry.lookUp(17)).toEqual({ schema: '"int"', references: [] });
    expect(paths).toEqual(['/apis/ccompat/v7/schemas/ids/17']);
  });

  test('that the registry says is unknown, in words or without, is bad, and asked for again', async () => {
    const { registry, paths } = await registryOf((_, response) => {
      if (paths.length === 1) json(response, 404, { error_code: 40403, message: 'Schema not found' });
      else response.writeHead(404).end();
    });
    for (const _ of ['first', 'second']) expect(await registry.lookUp(9)).toBe('unknown');
    expect(paths).toHaveLength(2);
  });

  test('brings what its schema refers to, each after what it needs itself', async () => {
    const c = { name: 'c', subject: 'c/d', version: 1 };
    const schemas: Record<string, object> = {
      '/schemas/ids/5': { ...referring, references: [...referring.references, c] },
      '/subjects/b/versions/2?deleted=true': { schema: 'b', references: [c] },
      '/subjects/c%2Fd/versions/1?deleted=true': { schema: 'c', schemaType: null },
    };
    const { registry, paths } = await registryOf((request, response) => json(response, 200, schemas[request.url!]));
    expect(await registry.lookUp(5)).toEqual({ schema: 'top', references: ['c', 'b'] });
    expect(paths).toHaveLength(3);
  });

  test.each([
    [100, 'top'],
    [101, undefined],
  ])('that refers to %i others is read as %s: 100 are the most', async (count, schema) => {
    const references = Array.from({ length: count }, (_, version) => ({ subject: 'b', version }));
    const answer = (url = '') =>
      url === '/schemas/ids/5' ? { schema: 'top', references } : { schema: 'b', schemaType: 'AVRO' };
    const { registry } = await registryOf((request, response) => json(response, 200, answer(request.url)));
    expect(await registry.lookUp(5)).toEqual(schema ? { schema, references: Array(count).fill('b') } : 'unusable');
  });

  test('of a schema in another language, or of one that refers to one that is gone, is unusable', async () => {
    const { registry } = await registryOf(({ url }, response) => {
      if (url === '/schemas/ids/4') json(response, 200, { schemaType: 'PROTOBUF', schema: 'syntax = "proto3";' });
      else if (url === '/schemas/ids/5') json(response, 200, referring);
      else json(response, 404, { error_code: 40402 });
    });
    for (const id of [4, 5]) expect(await registry.lookUp(id)).toBe('unusable');
  });
});

test('credentials in the URL become basic authentication, and are in no message', async () => {
  let headers: object = {};
  const { url } = await registryOf((request, response) => {
    headers = request.headers;
    json(response, 401, {});
  });
  const registry = schemaRegistry({ url: url.replace('http://', 'http://us%40er:se%3Acret@') });
  await expect(registry.lookUp(1)).rejects.toThrow(away(url, 'answered 401'));
  expect(headers).toMatchObject({
    authorization: `Basic ${Buffer.from('us@er:se:cret').toString('base64')}`,
    accept: expect.stringContaining('application/vnd.schemaregistry.v1+json'),
  });
});

describe('a registry is away, and no record is bad, when', () => {
  const page = (status: number) => (response: ServerResponse) =>
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Sign in</h1>');
  type Case = [what: string, answer: (response: ServerResponse) => unknown, why: string];
  test.each<Case>([
    ...[403, 503].map((code): Case => [`it answers ${code}`, (to) => json(to, code, {}), `answered ${code}`]),
    ['a web page comes back', page(200), 'answered 200 with something other than a schema'],
    ['a web page comes back with 404', page(404), 'answered 404 with a web page'],
    ['JSON without a schema comes back', (to) => json(to, 200, {}), 'answered 200 with something other than a schema'],
    ['it does not answer in time', () => undefined, 'did not answer in time'],
    ['it closes the connection', (to) => to.destroy(), "can't be reached (UND_ERR_SOCKET)"],
  ])('%s', async (_, answer, what) => {
    // Where it answers, however late on a busy machine, that counts.
    const timeoutMs = what.endsWith('in time') ? 200 : 60_000;
    const { registry, url } = await registryOf((_, response) => void answer(response), timeoutMs);
    await expect(registry.lookUp(1)).rejects.toThrow(away(url, what));
  });

  test('what the schema refers to can not be had: it is not kept without', async () => {
    let fails = true;
    const { registry } = await registryOf(({ url }, response) => {
      if (url === '/schemas/ids/5') json(response, 200, referring);
      else json(response, fails ? 500 : 200, { schema: 'b' });
    });
    await expect(registry.lookUp(5)).rejects.toThrow(SchemaAwayError);
    fails = false;
    expect(await registry.lookUp(5)).toEqual({ schema: 'top', references: ['b'] });
  });
});

test('a look-up that is aborted ends with the reason', async () => {
  const abort = new AbortController();
  const { registry } = await registryOf(() => abort.abort(new Error('stopping')));
  await expect(registry.lookUp(1, abort.signal)).rejects.toThrow('stopping');
});
