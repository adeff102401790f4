/** A document was not fetched because of a limit. Says nothing about the document. */
export class TooManyFetchesError extends Error {
  override name = 'TooManyFetchesError';
}
