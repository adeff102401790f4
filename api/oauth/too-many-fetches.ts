/** A document was not fetched, since too many are, or were: says nothing of the document. */
export class TooManyFetchesError extends Error {
  override name = 'TooManyFetchesError';
}
