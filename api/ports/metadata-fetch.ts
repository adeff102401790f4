/**
 * A fetch for URLs that strangers choose: it goes to public addresses only, within bounds of size and time
 * (infra/net/metadata-fetch.ts). Throws DocumentAwayError where trying again may help.
 */
export type MetadataFetch = typeof fetch;

/** A document cannot be fetched now, by a fault on the way or a limit. This says nothing about the document. */
export class DocumentAwayError extends Error {
  override name = 'DocumentAwayError';
}
