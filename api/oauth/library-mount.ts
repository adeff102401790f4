import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Provider } from 'oidc-provider';
import { withRedemption } from './library-adapter.ts';
import type { ServiceUrl } from './service-url.ts';

/** A request as the library should see it. */
export interface LibraryRequest {
  /** Path and query. */
  url: string;
  /** In place of the request's own body, which has been read. */
  body?: { text: string; type: string };
  /** What errors come as, whatever the request says that it accepts: endpoints for programs answer JSON, pages HTML. */
  accept?: 'application/json' | 'text/html';
  /** Headers of the answer. */
  headers: Record<string, string>;
}

export interface LibraryMount {
  /** Lets the library answer a request of Fastify. Resolves once it has. */
  answer(request: FastifyRequest, reply: FastifyReply, as: LibraryRequest): Promise<void>;
  /** The raw request with the origin of BASE_URL, for what the library reads from one. */
  raw(request: FastifyRequest): IncomingMessage;
}

// Whoever sends these could otherwise choose the host in the URLs that the library writes.
const forwarding = /^(x-)?forwarded(-.*)?$/;

/** Puts oidc-provider, which answers raw requests of node:http, behind routes of Fastify. */
export function libraryMount(provider: Provider, service: ServiceUrl): LibraryMount {
  // The library writes URLs with the request's host and scheme. Those are BASE_URL's, by way of the headers of a
  // proxy that it is told to trust; the request's own never get there.
  provider.proxy = true;
  const callback = provider.callback();

  const as = ({ raw, ip }: FastifyRequest, { url, body, accept }: Partial<LibraryRequest>): IncomingMessage => {
    const headers: IncomingMessage['headers'] = {};
    for (const [name, value] of Object.entries(raw.headers)) if (!forwarding.test(name)) headers[name] = value;
    headers.host = service.host;
    headers['x-forwarded-proto'] = service.https ? 'https' : 'http';
    // Who asks, as far as proxies are believed: rates are limited by it.
    headers['x-forwarded-for'] = ip;
    if (accept) headers.accept = accept;
    const own: Record<string, unknown> = { headers, url: url ?? raw.url };
    if (body !== undefined) {
      const bytes = Buffer.from(body.text);
      headers['content-type'] = body.type;
      headers['content-length'] = String(bytes.length);
      delete headers['transfer-encoding'];
      own.readable = true;
      own.iterator = async function* () {
        yield bytes;
      };
    }
    return Object.create(
      raw,
      Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { value, writable: true }])),
    ) as IncomingMessage;
  };

  return {
    raw: (request) => as(request, {}),
    async answer(request, reply, wanted) {
      reply.hijack();
      const response: ServerResponse = reply.raw;
      // Hijacking drops what was set on the reply.
      for (const [name, value] of Object.entries(wanted.headers)) response.setHeader(name, value);
      // A body that is left unread must not be taken for the next request.
      if (wanted.body === undefined && request.raw.headers['content-length'] !== undefined)
        response.setHeader('Connection', 'close');
      await withRedemption(() => callback(as(request, wanted), response) as unknown as Promise<void>);
    },
  };
}
