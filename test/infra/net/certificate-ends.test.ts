import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import tls from 'node:tls';
import { expect, test } from 'vitest';
import { certificateEndsMs, noting } from '../../../infra/net/certificate-ends.ts';
import { schemaRegistry } from '../../../infra/registry/schema-registry.ts';
import { processMetrics } from '../../../services/serve/metrics/process-metrics.ts';
import { makeCertificate } from '../../support/servers/certificate.ts';
import { listening } from '../../support/servers/listening.ts';

/** Serves with a certificate until the test ends. */
const serving = (certificate: tls.SecureContextOptions) =>
  listening(createServer(certificate, (_, response) => response.end('{}')));

type Made = ReturnType<typeof makeCertificate>;
const endOf = ({ cert }: Made) => new X509Certificate(cert).validToDate.getTime();

test('the first end of the certificates that the servers of a setting showed is a metric; a server’s next one counts', async () => {
  const [soon, later] = [2, 90].map((days) => makeCertificate(['localhost', '127.0.0.1'], days)) as [Made, Made];
  const authorities = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...authorities, soon.cert, later.cert]);
  const connect = async (port: number, servername: string, setting: string) => {
    const socket = tls.connect({ host: '127.0.0.1', port, servername, ...noting(setting) });
    await once(socket, 'secureConnect');
    socket.destroy();
  };
  const ends = () =>
    Object.fromEntries([...certificateEndsMs()].filter(([setting]) => /^(TEST|SCHEMA)_/.test(setting)));
  try {
    using one = await serving(soon);
    using two = await serving(later);
    await connect(one.port, 'localhost', 'TEST_BROKERS');
    await connect(two.port, '', 'TEST_BROKERS');
    expect(ends()).toEqual({ TEST_BROKERS: endOf(soon) });
    // It was renewed.
    await connect(two.port, 'localhost', 'TEST_BROKERS');
    const registry = schemaRegistry({ url: `https://localhost:${one.port}/riders` });
    await expect(registry.lookUp(1)).rejects.toThrow('answered 200');
    expect(ends()).toEqual({ TEST_BROKERS: endOf(later), SCHEMA_REGISTRY_URL: endOf(soon) });
    // A server whose certificate is of another name is refused as before.
    await expect(connect(one.port, 'elsewhere.example', 'TEST_OTHER')).rejects.toThrow('does not match');
    const name = 'ride_calendar_certificate_expiry_timestamp_seconds';
    const { values } = await processMetrics({ warn() {} }, '')
      .getSingleMetric(name)!
      .get();
    expect(values).toContainEqual({ labels: { setting: 'SCHEMA_REGISTRY_URL' }, value: endOf(soon) / 1000 });
  } finally {
    tls.setDefaultCACertificates(authorities);
  }
});
