import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { type AppDeps, createApp } from '../../../api/http/app.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { type ConversationOptions, converse, exchange, type RawAnswer } from '../servers/raw-http.ts';
import { smallWorld } from '../worlds/small-world.ts';
import { closing } from './closing.ts';
import { projecting } from './service.ts';

/** Any of the application's own, and: */
interface HttpServiceOptions extends Partial<AppDeps> {
  /** Default: a free one. */
  port?: number;
  /** Default: views in memory. */
  views?: { writer: ViewWriter; reader: ViewReader };
  records?: readonly LoggedRecord[];
  /** Adds routes, before it listens. */
  register?(app: FastifyInstance): Promise<void> | void;
}

export type HttpService = Awaited<ReturnType<typeof startHttpService>>;

/**
 * The HTTP application on a socket, over views that the projector's own parts have written. A token is its rider's id, and `dead` is
 * none. No test's requests come by the name of the base URL, so it is seen where URLs come from.
 */
export async function startHttpService(options: HttpServiceOptions = {}) {
  const { port: wanted = 0, views, records = smallWorld.records, register, ...given } = options;
  const memory = new MemoryViewStore();
  const { writer, reader } = views ?? { writer: memory.writer(), reader: memory.reader() };
  const faults: unknown[] = [];
  const cache = new ViewCache(reader);
  const { baseUrl = 'https://rides.example/api' } = given;
  const app = createApp({
    baseUrl,
    cache,
    calendarNowMs: () => smallWorld.nowMs,
    cacheSeconds: 0,
    checker: { check: (token) => (token === 'dead' ? null : token) },
    openApi: Buffer.from(JSON.stringify(openApiDocument(baseUrl))),
    onFault: (cause) => faults.push(cause),
    ...given,
  });
  await register?.(app);
  const projector = await projecting(writer);
  await projector.publish(records);
  await projector.complete();
  await app.listen({ port: wanted, host: '127.0.0.1' });
  const { port } = app.addresses()[0] as AddressInfo;
  const basePath = new URL(baseUrl).pathname.replace(/\/$/, '');

  return {
    app,
    port,
    basePath,
    cache,
    projector,
    publish: projector.publish,
    /** What was reported as a fault of ours so far. */
    faults,
    /** One request below the base path, byte for byte as given; `Host` is added. */
    ask: (path: string, headers: Record<string, string> = {}, method = 'GET', body = ''): Promise<RawAnswer> =>
      exchange(port, requestText(method, basePath + path, headers, body)),
    converse: (request: string | Buffer, more?: ConversationOptions) => converse(port, request, more),
    exchange: (request: string | Buffer, more?: ConversationOptions) => exchange(port, request, more),
    close: closing(async () => {
      app.server.closeAllConnections();
      await app.close();
      await reader.close();
      await writer.close();
    }),
  };
}

/** A request's bytes, in latin1. */
export function requestText(method: string, target: string, headers: Record<string, string> = {}, body = ''): string {
  const all: Record<string, string> = { Host: 'elsewhere.example', ...headers };
  if (body !== '' && !('Transfer-Encoding' in all)) all['Content-Length'] ??= String(Buffer.byteLength(body, 'latin1'));
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

export const json = (answer: RawAnswer): unknown => JSON.parse(answer.body.toString());
