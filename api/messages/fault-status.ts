import { StateStoreAwayError } from '../ports/sign-in-state.ts';
import { StoreAwayError } from '../ports/view-reader.ts';

/** The HTTP status of an error that was thrown while a request was answered. 500: nobody expected it. */
export const faultStatus = (error: unknown): 500 | 503 =>
  // A store that is away may be back shortly.
  error instanceof StoreAwayError || error instanceof StateStoreAwayError ? 503 : 500;
