import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadSettings } from '../../../services/settings/settings.ts';
import { secretSettings } from '../../../services/settings/settings-schema.ts';
import { testFolder } from '../../support/processes/test-folder.ts';

const folder = testFolder();
let files = 0;
const file = (text: string): string => {
  const path = join(folder, `${files++}`);
  writeFileSync(path, text);
  return path;
};

const values: Record<string, string> = {
  KAFKA_SASL_PASSWORD: 'p',
  SCHEMA_REGISTRY_URL: 'http://u:p@r:8081',
  REDIS_URL: 'redis://u:p@h',
  AUTH_REDIS_URL: 'redis://u:p@a',
  SIGN_IN_CLIENT_SECRET: 's',
  OAUTH_COOKIE_KEYS: `${'a'.repeat(32)},${'b'.repeat(32)}`,
};
const rest = {
  KAFKA_BROKERS: 'k:1',
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USERNAME: 'u',
  SIGN_IN_ISSUER: 'https://id.example.org',
  SIGN_IN_CLIENT_ID: 'c',
};

it('a secret in a file is the same as in its variable, with or without a newline at its end', () => {
  expect(Object.keys(values)).toEqual(secretSettings);
  for (const end of ['', '\n', '\r\n']) {
    const files = Object.entries(values).map(([name, value]) => [`${name}_FILE`, file(value + end)]);
    expect(loadSettings({ ...rest, ...Object.fromEntries(files) })).toEqual(loadSettings({ ...rest, ...values }));
  }
});

const secret = 'hunter2';

it.each([
  ['beside its variable', { REDIS_URL: 'redis://h', REDIS_URL_FILE: file(secret) }, 'REDIS_URL is given too'],
  ['that is not there', { REDIS_URL_FILE: '/no/such' }, '/no/such cannot be read (ENOENT), want a file'],
  ['that is empty', { REDIS_URL_FILE: file(' \n') }, 'is empty, want a file'],
  ['of several lines', { REDIS_URL_FILE: file(`redis://h\n${secret}\n`) }, 'has several lines, want a file'],
  ['with a wrong value', { REDIS_URL_FILE: file(`reds://u:${secret}@h`) }, 'got "reds://***@h", want a redis'],
  // It counts as given: no second line calls it missing.
  ['of a cluster', { REDIS_URL_FILE: '/no/such', REDIS_CLUSTER: 'true' }, '/no/such cannot be read'],
])('a secret in a file %s is refused in one line, without what the file holds', (_, env, words) => {
  const loading = () => loadSettings(env);
  expect(loading).toThrow(/^Cannot use setting REDIS_URL_FILE: .*$/);
  expect(loading).toThrow(words);
  expect(loading).not.toThrow(secret);
});

it('a secret in a file is documented for each secret', () => {
  const document = readFileSync(new URL('../../../docs/settings.md', import.meta.url), 'utf8');
  const [, list] = /It works for: ([^.]*)\./.exec(document)!;
  expect([...list!.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(secretSettings);
});
