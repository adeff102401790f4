import { StateStoreAwayError } from '../ports/sign-in-state.ts';
import { StoreAwayError } from '../ports/view-reader.ts';

/** The classes of errors that have a status of their own: a store is away, and may be back shortly. */
const statuses = [
  [StoreAwayError, 503],
  [StateStoreAwayError, 503],
] as const;

/** The HTTP status of an error that was thrown while a request was answered. 500: nobody expected it. */
export const faultStatus = (error: unknown): 500 | 503 => statuses.find(([of]) => error instanceof of)?.[1] ?? 500;
