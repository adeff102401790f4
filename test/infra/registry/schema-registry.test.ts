import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  SchemaRegistryAwayError,
  type SchemaRegistryOptions,
  schemaRegistry,
} from '../../../infra/registry/schema-registry.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A registry on a free port; `paths` lists what was asked. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url!);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' }).end(JSON.stringify(body));

async function registryOf(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<SchemaRegistryOptions> = {},
) {
  const { url, paths } = await serve(answer);
  return { registry: schemaRegistry({ url, ...options }), paths, url };
}

const away = (url: string, what: string) => new SchemaRegistryAwayError(`the schema registry at ${url} ${what}`);

describe('a schema id', () => {
  // docs/rules.md#schema-registry
  test('is looked up once and kept', async () => {
    const { registry, paths } = await registryOf((_, response) => json(response, 200, { schema: '"int"' }));
    expect(await registry.lookUp(17)).toEqual({ schema: '"int"', references: [] });
    expect(await registry.lookUp(17)).toEqual({ schema: '"int"', references: [] });
    expect(paths).toEqual(['/schemas/ids/17']);
  });

  test('is asked below the path that the URL has', async () => {
    const { paths, url } = await registryOf((_, response) => json(response, 200, { schema: '"int"' }));
    await schemaRegistry({ url: `${url}/apis/ccompat/v7/` }).lookUp(1);
    expect(paths).toEqual(['/apis/ccompat/v7/schemas/ids/1']);
  });

  test.each([
    ['in words', (response: ServerResponse) => json(response, 404, { error_code: 40403, message: 'Schema not found' })],
    ['without words', (response: ServerResponse) => response.writeHead(404).end()],
  ])('that the registry says is unknown, %s, is bad, and asked for again', async (_name, answer) => {
    const { registry, paths } = await registryOf((_, response) => void answer(response));
    expect(await registry.lookUp(9)).toEqual({ bad: 'unknown schema id' });
    await registry.lookUp(9);
    expect(paths).toHaveLength(2);
  });

  test('of a schema in another language is unusable', async () => {
    const { registry } = await registryOf((_, response) =>
      json(response, 200, { schemaType: 'PROTOBUF', schema: 'syntax = "proto3";' }),
    );
    expect(await registry.lookUp(4)).toEqual({ bad: 'unusable writer schema' });
  });

  test('brings what its schema refers to, each after what it needs itself', async () => {
    const schemas: Record<string, object> = {
      '/schemas/ids/5': {
        schema: 'top',
        references: [
          { name: 'b', subject: 'b', version: 2 },
          { name: 'c', subject: 'c/d', version: 1 },
        ],
      },
      '/subjects/b/versions/2?deleted=true': { schema: 'b', references: [{ name: 'c', subject: 'c/d', version: 1 }] },
      '/subjects/c%2Fd/versions/1?deleted=true': { schema: 'c' },
    };
    const { registry, paths } = await registryOf((request, response) => json(response, 200, schemas[request.url!]));
    expect(await registry.lookUp(5)).toEqual({ schema: 'top', references: ['c', 'b'] });
    expect(paths).toHaveLength(3);
  });

  test('whose schema refers to one that is gone is unusable', async () => {
    const { registry } = await registryOf((request, response) =>
      request.url === '/schemas/ids/5'
        ? json(response, 200, { schema: 'top', references: [{ name: 'b', subject: 'b', version: 2 }] })
        : json(response, 404, { error_code: 40402 }),
    );
    expect(await registry.lookUp(5)).toEqual({ bad: 'unusable writer schema' });
  });
});

describe('credentials', () => {
  test('in the URL become basic authentication, and are in no message', async () => {
    let authorization: string | undefined;
    const { url } = await serve((request, response) => {
      authorization = request.headers.authorization;
      json(response, 401, {});
    });
    const registry = schemaRegistry({ url: url.replace('http://', 'http://us%40er:se%3Acret@') });
    const answer = registry.lookUp(1);
    await expect(answer).rejects.toThrow(away(url, 'answered 401'));
    expect(authorization).toBe(`Basic ${Buffer.from('us@er:se:cret').toString('base64')}`);
  });
});

describe('a registry is away, and no record is bad, when', () => {
  test.each([401, 403, 429, 500, 503])('it answers %i', async (status) => {
    const { registry, url } = await registryOf((_, response) => json(response, status, { error_code: status }));
    await expect(registry.lookUp(1)).rejects.toThrow(away(url, `answered ${status}`));
  });

  test.each([200, 404])('a web page comes back with %i', async (status) => {
    const { registry } = await registryOf((_, response) =>
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Sign in</h1>'),
    );
    await expect(registry.lookUp(1)).rejects.toThrow(SchemaRegistryAwayError);
  });

  test('JSON without a schema comes back', async () => {
    const { registry } = await registryOf((_, response) => json(response, 200, {}));
    await expect(registry.lookUp(1)).rejects.toThrow(SchemaRegistryAwayError);
  });

  test('nothing listens there', async () => {
    const { url } = await serve(() => undefined);
    for (const close of closers.splice(0)) close();
    await expect(schemaRegistry({ url }).lookUp(1)).rejects.toThrow(away(url, "can't be reached (ECONNREFUSED)"));
  });

  test('it does not answer in time', async () => {
    const { registry, url } = await registryOf(() => undefined, { timeoutMs: 50 });
    await expect(registry.lookUp(1)).rejects.toThrow(away(url, 'did not answer in time'));
  });

  test('what the schema refers to can not be had: it is not kept without', async () => {
    let fails = true;
    const { registry } = await registryOf((request, response) => {
      if (request.url === '/schemas/ids/5') {
        json(response, 200, { schema: 'top', references: [{ name: 'b', subject: 'b', version: 2 }] });
      } else if (fails) json(response, 500, {});
      else json(response, 200, { schema: 'b' });
    });
    await expect(registry.lookUp(5)).rejects.toThrow(SchemaRegistryAwayError);
    fails = false;
    expect(await registry.lookUp(5)).toEqual({ schema: 'top', references: ['b'] });
  });
});

test('a look-up that is aborted ends with the reason', async () => {
  const abort = new AbortController();
  const { registry } = await registryOf(() => abort.abort(new Error('stopping')));
  await expect(registry.lookUp(1, abort.signal)).rejects.toThrow('stopping');
});
