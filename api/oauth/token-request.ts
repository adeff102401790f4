import { canonicalResource, type ServiceUrl } from './service-url.ts';

/** A form of the token endpoint as the library should see it, or the error to answer without asking the library. */
export type TokenRequest = { form: string } | { refuse: { error: string; error_description: string } };

/**
 * Spells the resource in one way, and refuses any other resource. The library would use up the refresh token first, and
 * only then find the resource wrong.
 */
export function canonicalTokenRequest(form: URLSearchParams, service: ServiceUrl): TokenRequest {
  const resources = new Set(
    form
      .getAll('resource')
      .filter((resource) => resource !== '')
      .map((resource) => canonicalResource(resource, service)),
  );
  for (const resource of resources)
    if (resource !== service.resource)
      return {
        refuse: { error: 'invalid_target', error_description: `the only resource here is ${service.resource}` },
      };
  const canonical = new URLSearchParams(form);
  canonical.delete('resource');
  for (const resource of resources) canonical.append('resource', resource);
  return { form: canonical.toString() };
}
