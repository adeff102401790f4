import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSettings, type Settings } from '../../../services/settings/settings.ts';

const read = (name: string): string =>
  readFileSync(new URL(`../../../infra/deploy/kubernetes/${name}`, import.meta.url), 'utf8');

/** A document of a Kubernetes file, by its kind and name. */
const document = (file: string, kind: string, name: string): string =>
  read(file)
    .split(/^---$/m)
    .find((text) => text.includes(`\nkind: ${kind}\n`) && text.includes(`\n  name: ${name}\n`))!;

const settingsOf = (part: string): Record<string, string> =>
  Object.fromEntries(
    [...document('settings.yaml', 'ConfigMap', part).matchAll(/^ {2}([A-Z_]+): (\S+)$/gm)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
const loaded = (part: string, secrets: Record<string, string> = {}): Settings =>
  loadSettings({ ...settingsOf(part), ...secrets });

describe('Kubernetes’s settings', () => {
  it('are ones that the service takes, and name the proxy before it', () => {
    const api = loaded('api', { SIGN_IN_CLIENT_SECRET: 'a secret' });
    expect(api.trustProxy).not.toBeNull();
    expect(api.embedded).toBe(false);
    expect(loaded('projector').kafka?.brokers.length).toBeGreaterThan(0);
  });

  it('give the projector nothing of sign-in, and the API nothing of Kafka', () => {
    expect(Object.keys(settingsOf('projector')).filter((name) => /^(SIGN_IN|OAUTH|AUTH)/.test(name))).toEqual([]);
    expect(Object.keys(settingsOf('api')).filter((name) => name.startsWith('KAFKA'))).toEqual([]);
  });

  it.each(['projector', 'api'])('and secrets are %s’s own alone, and it gets no token of the cluster', (part) => {
    const deployment = document(`${part}.yaml`, 'Deployment', part);
    expect(deployment.match(/(?:configMapRef|secretRef): \{ name: ([\w-]+)/g)).toEqual([
      `configMapRef: { name: ${part}`,
      `secretRef: { name: ${part}`,
    ]);
    expect(deployment).toContain('automountServiceAccountToken: false');
  });
});
