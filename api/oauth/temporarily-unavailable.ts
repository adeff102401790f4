import { errors } from 'oidc-provider';
import type { RiderDirectory } from '../tokens/rider-directory.ts';

/**
 * RFC 6749's `temporarily_unavailable` with status 503 (the library's own class has 400), for faults of the stores
 * behind sign-in. Apps are told to try again, and nothing is taken as absent.
 */
export function temporarilyUnavailable(cause: unknown): errors.OIDCProviderError {
  const error = new errors.TemporarilyUnavailable('try again in a few seconds');
  return Object.assign(error, { status: 503, statusCode: 503, expose: true, cause });
}

/** The same directory, with its faults turned into `temporarily_unavailable`. */
export function ridersOrUnavailable(riders: RiderDirectory): RiderDirectory {
  const asked = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (cause) {
      throw temporarilyUnavailable(cause);
    }
  };
  return {
    exists: (rider) => asked(riders.exists(rider)),
    card: (rider) => asked(riders.card(rider)),
    sample: (count) => asked(riders.sample(count)),
  };
}
