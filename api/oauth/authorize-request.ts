import { readScope } from '../tokens/access-token-terms.ts';
import { canonicalResource, type ServiceUrl } from './service-url.ts';

/**
 * The query of an authorization request as the library should see it. A request without scope gets `read`: the library
 * would ask for consent to nothing and then refuse it. The resource is spelled in one way. Only answers in the query
 * are offered; the library knows others and can't forget them, so their names are made unknown to it.
 */
export function canonicalAuthorizeQuery(query: string, service: ServiceUrl): string {
  const params = new URLSearchParams(query);
  if (params.getAll('scope').every((scope) => scope.trim() === '')) params.set('scope', readScope);
  const resources = new Set(params.getAll('resource').map((resource) => canonicalResource(resource, service)));
  params.delete('resource');
  for (const resource of resources) params.append('resource', resource);
  const modes = params.getAll('response_mode');
  if (modes.length === 1 && modes[0] !== '' && modes[0] !== 'query') params.set('response_mode', 'not-offered');
  return params.toString();
}
