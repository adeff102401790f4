import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadSettings } from '../../../services/settings/settings.ts';

const file = new URL('../../../infra/deploy/kubernetes/settings.yaml', import.meta.url);

test('Kubernetes’s settings are ones that the service takes, and name the proxy before it', () => {
  const data = readFileSync(file, 'utf8').split(/^data:\n/m)[1]!;
  const given = Object.fromEntries(
    [...data.matchAll(/^ {2}([A-Z_]+): (\S+)$/gm)].map(([, name, value]) => [name, value]),
  );
  const settings = loadSettings({ ...given, SIGN_IN_CLIENT_SECRET: 'a secret' });
  expect(settings.trustProxy).not.toBeNull();
  expect(settings.embedded).toBe(false);
});
