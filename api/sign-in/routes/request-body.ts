import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The largest legitimate body, a registration with ten redirect URIs, has about 4 kB. */
const bodyLimit = 16 * 1024;

/** Takes forms alone. */
export function takeForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const type = 'application/x-www-form-urlencoded';
  scope.addContentTypeParser(type, { parseAs: 'string', bodyLimit }, (_request, body, done) => done(null, body));
}

/** The body as a form. Empty if there is none. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams => new URLSearchParams(body as string | undefined);

/** Takes JSON alone. */
export function takeJson(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const parser = scope.getDefaultJsonParser('ignore', 'ignore');
  scope.addContentTypeParser('application/json', { parseAs: 'string', bodyLimit }, parser);
}
