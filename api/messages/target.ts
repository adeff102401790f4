import { type OperationName, operationPaths } from '../../schemas/interface/inputs.ts';
import { memoize } from './memoize.ts';

/** From a target's raw text to its route and decoded parameters (docs/rules.md#path-decoding, #broken-encoding). */

/** URLs of up to 8,000 bytes work (docs/rules.md#long-urls). */
export const targetBytesMax = 8_000;

const plainText = /^[\x00-\x24\x26-\x7f]*$/;
// Percent-encoded text is ASCII. `decodeURIComponent` lets other characters through.
const notAscii = /[^\x00-\x7f]/;

/** Decodes percent-encoded UTF-8 once. Null if the text is not valid (lone %, %zz, %FF, overlong forms, surrogates). */
export function decodeText(raw: string): string | null {
  if (plainText.test(raw)) return raw;
  if (notAscii.test(raw)) return null;
  try {
    return decodeURIComponent(raw);
  } catch {
    return null;
  }
}

/** The same for query text, in which a plus sign is a space, as forms send it (docs/rules.md#plus-sign). */
export const decodeQueryText = (raw: string): string | null =>
  decodeText(raw.includes('+') ? raw.replaceAll('+', ' ') : raw);

// Decoded text never contains half a surrogate pair.
const rawPlus = '\ud800';
const barePlusOf21 = new RegExp(`(?<=(?:^|,)21)${rawPlus}(?=[ ${rawPlus}]Only(?:,|$))`, 'g');

/**
 * The same for a list that may hold `21+ Only`. Many clients send its plus sign unencoded (docs/rules.md#plus-sign), so
 * a plus sign between `21` and a space is kept: `21++Only` and `21+%20Only` are `21+ Only`, and `21%20%20Only` is not.
 */
export function decodeAudiences(raw: string): string | null {
  const pieces = raw.split('+').map(decodeText);
  if (pieces.includes(null)) return null;
  return pieces.join(rawPlus).replace(barePlusOf21, '+').replaceAll(rawPlus, ' ');
}

/** A parameter's raw value: undefined if it is missing, null if it is repeated. */
export type RawParameter = string | null | undefined;

/**
 * Picks parameters out of a raw query (without the question mark). Unknown parameters are skipped, also those whose
 * name cannot be decoded. A parameter without `=` is empty text (docs/rules.md#unknown-parameters).
 */
export function pickParameters(query: string, names: readonly string[]): RawParameter[] {
  const picked: RawParameter[] = names.map(() => undefined);
  if (query === '' || names.length === 0) return picked;
  for (const piece of query.split('&')) {
    const equals = piece.indexOf('=');
    const name = decodeQueryText(equals === -1 ? piece : piece.slice(0, equals));
    const place = name === null ? -1 : names.indexOf(name);
    if (place === -1) continue;
    picked[place] = picked[place] === undefined ? (equals === -1 ? '' : piece.slice(equals + 1)) : null;
  }
  return picked;
}

/** Splits a target in origin form into raw path and raw query (without the question mark). */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?');
  return mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** Where a request goes: its operation, and the raw path segments that are its parameters. */
export interface Route {
  operation: OperationName;
  segments: string[];
}

const shapesBelow = memoize((basePath) =>
  (Object.entries(operationPaths) as [OperationName, string][]).map(([operation, path]) => ({
    operation,
    shape: (basePath + path).split('/'),
  })),
);

/**
 * Finds the route of a raw path (no query) below a base path (`''`, or like `/calendar/api`, without a trailing slash).
 * Returns null if there is none. The path is split at `/`, then each segment is decoded once: `/%72ides/x` is
 * `/rides/x`, `/rides/a%2Fb` has one parameter, `/rides/` has an empty one, and `/rides/x/` is no route.
 */
export function routePath(basePath: string, rawPath: string): Route | null {
  const segments = rawPath.split('/');
  for (const { operation, shape } of shapesBelow(basePath)) {
    if (shape.length !== segments.length) continue;
    const isParameter = (i: number): boolean => shape[i]!.startsWith('{');
    const fits = (segment: string, i: number): boolean =>
      segment === shape[i] || isParameter(i) || decodeText(segment) === decodeText(shape[i]!);
    if (segments.every(fits)) return { operation, segments: segments.filter((_, i) => isParameter(i)) };
  }
  return null;
}
