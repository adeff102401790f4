import type { OperationName } from '../../schemas/interface/inputs.ts';
import { decodeText } from './decoding.ts';

/** Where a request goes: its operation, and the raw segments that are its path parameters. */
export interface Route {
  operation: OperationName;
  segments: string[];
}

/** The interface's paths, as segments below the base path; null is a parameter. */
const routes: readonly { operation: OperationName; shape: readonly (string | null)[] }[] = [
  { operation: 'getDay', shape: ['metros', null, 'days', null] },
  { operation: 'getRide', shape: ['rides', null] },
  { operation: 'getMyNights', shape: ['me', 'nights'] },
  { operation: 'getKnown', shape: ['me', 'known'] },
  { operation: 'getFriends', shape: ['me', 'friends'] },
  { operation: 'getFlagged', shape: ['me', 'flagged'] },
  { operation: 'getOpenApi', shape: ['openapi.json'] },
];

/**
 * Finds the route of a raw path (no query) below a base path (`''` or such as `/calendar/api`, no slash at its end),
 * or null. The path is split at `/` before each segment is decoded, once: `/%72ides/x` is `/rides/x`, `/rides/a%2Fb`
 * has one parameter, `/rides/` an empty one, and `/rides/x/` is no route.
 */
export function routePath(basePath: string, rawPath: string): Route | null {
  const segments = segmentsBelow(basePath, rawPath);
  if (segments === null) return null;
  for (const { operation, shape } of routes) {
    if (fits(shape, segments)) return { operation, segments: segments.filter((_, i) => shape[i] === null) };
  }
  return null;
}

function segmentsBelow(basePath: string, rawPath: string): string[] | null {
  if (rawPath.startsWith(basePath) && rawPath.charCodeAt(basePath.length) === slash) {
    return rawPath.slice(basePath.length + 1).split('/');
  }
  const base = basePath.split('/');
  const segments = rawPath.split('/');
  if (segments.length <= base.length) return null;
  const same = base.every((part, i) => decodeText(segments[i] ?? '') === decodeText(part));
  return same ? segments.slice(base.length) : null;
}

const slash = 0x2f;

function fits(shape: readonly (string | null)[], segments: readonly string[]): boolean {
  if (shape.length !== segments.length) return false;
  for (let i = 0; i < shape.length; i++) {
    const wanted = shape[i];
    if (wanted !== null && wanted !== segments[i] && wanted !== decodeText(segments[i] ?? '')) return false;
  }
  return true;
}
