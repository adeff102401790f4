/** A document was not fetched because of a limit. Says nothing about the document. */
export class TooManyFetchesError extends Error {
  override name = 'TooManyFetchesError';
  /** When to try again. */
  readonly retrySeconds: number;
  constructor(message: string, retrySeconds = 60) {
    super(message);
    this.retrySeconds = retrySeconds;
  }
}
