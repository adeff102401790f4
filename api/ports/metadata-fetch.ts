/**
 * A fetch for URLs that strangers choose: it goes to public addresses only, within bounds of size and time
 * (infra/net/https-metadata-fetch.ts), e.g. `await fetch('https://client.example/client.json')`. Throws
 * DocumentAwayError where trying again may help.
 */
export type MetadataFetch = typeof fetch;

/** A document cannot be fetched now, because of a limit or a fault on the way. The document may be right. */
export class DocumentAwayError extends Error {
  override name = 'DocumentAwayError';
}
