import { expect, test } from 'vitest';
import { wwwAuthenticate } from '../../../api/tokens/www-authenticate.ts';

// docs/rules.md#www-authenticate, #metadata
test('a 401 names the metadata of the resource at the place of its path', () => {
  expect(wwwAuthenticate('http://127.0.0.1:8080/api', false)).toBe(
    'Bearer resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/api", scope="read"',
  );
  expect(wwwAuthenticate('https://rides.example/v/one/', true)).toBe(
    'Bearer resource_metadata="https://rides.example/.well-known/oauth-protected-resource/v/one", scope="read", error="invalid_token"',
  );
  expect(wwwAuthenticate('https://rides.example', false)).toBe(
    'Bearer resource_metadata="https://rides.example/.well-known/oauth-protected-resource", scope="read"',
  );
});
