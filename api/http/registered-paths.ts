import { decodeText, splitTarget } from './target.ts';

// Fastify's router has the same limit.
export const parameterLengthMax = 100;
const anyParameter = `[^/]{1,${parameterLengthMax}}`;
const order = ['GET', 'HEAD', 'POST'];
const rank = (method: string): number => (order.includes(method) ? order.indexOf(method) : order.length);

/**
 * The paths beside the interface, with the methods they take. For any other method the answer is 405 if the path
 * exists, else 404 (docs/rules.md#other-paths). A path is static, or has parameters as whole segments
 * (`/oauth/sign-in/:uid`).
 */
export class RegisteredPaths {
  readonly #methods = new Map<string, { pattern: RegExp; methods: Set<string> }>();

  add(path: string, methods: string | readonly string[]): void {
    const known = this.#methods.get(path) ?? { pattern: patternOf(path), methods: new Set() };
    for (const method of [methods].flat()) known.methods.add(method);
    this.#methods.set(path, known);
  }

  /** The methods that a target's path takes. Empty if there is no such path. */
  methodsAt(target: string): string[] {
    const path = decodeText(splitTarget(target).path);
    if (path === null) return [];
    const found = [...this.#methods.values()].filter(({ pattern }) => pattern.test(path));
    const methods = new Set(found.flatMap(({ methods }) => [...methods]));
    return [...methods].sort((a, b) => rank(a) - rank(b));
  }
}

function patternOf(path: string): RegExp {
  const segments = path
    .split('/')
    .map((segment) => (segment.startsWith(':') ? anyParameter : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`^${segments.join('/')}$`);
}
