import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { lifetimes } from '../../../../api/sign-in/provider/lifetimes.ts';

const day = 86_400;

it.each([
  ['accessToken', 600, 'docs/rules.md', 'until its `exp`, ten minutes after it was issued'],
  ['code', 60, 'docs/oauth.md', 'Within a minute:'],
  ['refreshToken', 30 * day, 'docs/oauth.md', '30 days after it was issued'],
  ['grant', 90 * day, 'docs/oauth.md', '90 days. Refreshing does not extend it'],
  ['session', day / 2, 'docs/rules.md', 'twelve hours from its login'],
  ['reuse', 10, 'docs/rules.md', 'again within ten seconds of its first use'],
  ['unusedClient', day, 'docs/sign-in.md', 'An unused client is deleted after a day'],
  ['usedClient', 120 * day, 'docs/sign-in.md', '120 days after its last use'],
] as const)('%s lasts %i seconds, as %s promises: %s', (what, seconds, file, words) => {
  expect(lifetimes[what]).toBe(seconds);
  expect(readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8')).toContain(words);
});
