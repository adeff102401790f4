import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { DocumentAwayError, type MetadataFetch } from '../../api/ports/metadata-fetch.ts';
import { race, within } from '../../projector/running/stop.ts';
import { isPublicAddress } from './public-address.ts';

/** The largest document that is accepted. */
const bytesMax = 16 * 1024;

export interface MetadataFetchOptions {
  /** For everything together: DNS, connection, document. */
  timeoutMs?: number;
  /** For tests: name resolution, allowed addresses, and trusted certificates. */
  resolve?: (host: string) => Promise<LookupAddress[]>;
  isAllowed?: (address: string) => boolean;
  ca?: string;
}

/**
 * A fetch for URLs that strangers choose (SSRF protection): https only, public internet addresses only, no redirects,
 * and limits of size and time. Throws DocumentAwayError if trying again may help, and else an error that says nothing of
 * what an address answered. A name is resolved once, and the connection goes to the address that was checked, so a second
 * DNS answer (DNS rebinding) changes nothing.
 */
export function httpsMetadataFetch(options: MetadataFetchOptions = {}): MetadataFetch {
  const { timeoutMs = 4000, resolve = addressesOf, isAllowed = isPublicAddress, ca } = options;

  const checkedAddresses = async (host: string, signal: AbortSignal): Promise<LookupAddress[]> => {
    const literal = host.replace(/^\[|\]$/g, '');
    const found = isIP(literal)
      ? [{ address: literal, family: isIP(literal) }]
      : await race(signal, resolve(host)).catch((cause: unknown) => {
          throw new DocumentAwayError('the host’s name can’t be resolved now', { cause });
        });
    if (found.length === 0) throw new Error('the host has no address');
    // One reserved address among public ones is an attack, not a mistake.
    if (!found.every(({ address }) => isAllowed(address))) throw new Error('the host is not on the public internet');
    return found;
  };

  const get = async (url: URL, signal: AbortSignal): Promise<Response> => {
    if (url.protocol !== 'https:') throw new Error('only https is fetched');
    if (url.username !== '' || url.password !== '') throw new Error('the URL has a user or password');
    const addresses = await checkedAddresses(url.hostname, signal);
    const response = await respond(url, addresses, signal, ca);
    const status = response.statusCode ?? 0;
    if (status !== 200) {
      response.destroy();
      if (status >= 300 && status < 400) throw new Error('redirects are not followed');
      return new Response(null, { status: status >= 200 && status <= 599 ? status : 502 });
    }
    const body = await readLimited(response);
    const headers = new Headers();
    for (const name of ['content-type', 'cache-control', 'expires']) {
      const value = response.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    return new Response(new Uint8Array(body), { status, headers });
  };

  return async (input) => {
    const url = new URL(typeof input === 'object' && 'url' in input ? input.url : String(input));
    return await within(timeoutMs, (late) => get(url, late));
  };
}

const respond = (url: URL, addresses: LookupAddress[], signal: AbortSignal, ca: string | undefined) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request(
      url,
      {
        // Connections are not reused: a kept one could serve another host name.
        agent: false,
        signal,
        method: 'GET',
        headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'ride-calendar' },
        maxHeaderSize: 8192,
        ...(ca !== undefined && { ca }),
        lookup: (_host, { all }, done) => {
          if (all) done(null, addresses);
          else done(null, addresses[0]!.address, addresses[0]!.family);
        },
      },
      resolve,
    );
    asked.on('error', (cause) => reject(new DocumentAwayError('the document can’t be fetched', { cause })));
    asked.end();
  });

async function readLimited(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > bytesMax) break;
    }
  } catch (cause) {
    throw new DocumentAwayError('the document ended early', { cause });
  }
  // Leaving the loop has closed the connection.
  if (bytes > bytesMax) throw new Error(`the document is longer than ${bytesMax} bytes`);
  return Buffer.concat(chunks);
}

/**
 * All addresses of a name: none if it has none. Rejects where DNS itself fails. It asks DNS directly: each look-up of the system's (getaddrinfo) blocks a thread of the process,
 * so a few names whose servers never answer would stall every other look-up, also those of Kafka and Redis.
 */
async function addressesOf(host: string): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  // For a name with only IPv4 or only IPv6 addresses, the other query fails.
  const found = await Promise.allSettled([
    resolver.resolve4(host).then((all) => all.map((address) => ({ address, family: 4 }))),
    resolver.resolve6(host).then((all) => all.map((address) => ({ address, family: 6 }))),
  ]);
  const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const fault = found.find((each) => each.status === 'rejected' && !hasNone.has(each.reason.code));
  if (addresses.length === 0 && fault) throw (fault as PromiseRejectedResult).reason;
  return addresses;
}

// Codes of c-ares: there is no such name, or it has no address of this kind.
const hasNone = new Set(['ENOTFOUND', 'ENODATA']);
