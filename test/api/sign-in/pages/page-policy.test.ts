import { expect, test } from 'vitest';
import { redirectSources } from '../../../../api/sign-in/clients/client-words.ts';
import { pagePolicy } from '../../../../api/sign-in/pages/page.ts';

test.each([
  'https://x;frame-ancestors/cb',
  'https://x,frame-ancestors/cb',
  "https://x;'unsafe-inline'/cb",
  'https://[2001:db8::1]/cb',
])('the content security policy of a page whose form may end at %s keeps all its directives', (uri) => {
  const policy = pagePolicy(redirectSources(uri));
  expect(policy.split(';').map((directive) => directive.trim().split(' ', 1)[0])).toEqual([
    'default-src',
    'style-src',
    'img-src',
    'form-action',
    'frame-ancestors',
    'base-uri',
  ]);
  expect(policy).not.toContain(',');
  expect(policy).toContain("form-action 'self' https:; frame-ancestors 'none'; base-uri 'none'");
});

test('a page’s form may end at a host, a port, this device or an app', () => {
  const sources = (uri: string) => /form-action 'self' ([^;]*);/.exec(pagePolicy(redirectSources(uri)))?.[1];
  expect(sources('https://a-b.example:8443/cb')).toBe('https://a-b.example:8443 https:');
  expect(sources('http://127.0.0.1:7/cb')).toBe('http://127.0.0.1:7 http://127.0.0.1:* http://localhost:* https:');
  expect(sources('com.example.app:/cb')).toBe('com.example.app:');
});
