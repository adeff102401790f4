// Traces an API's requests by OpenTelemetry: docs/metrics.md#traces. The service does not depend on it: Node loads it first.
import { register } from 'node:module';

register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
const { NodeSDK } = await import('@opentelemetry/sdk-node');
const { HttpInstrumentation } = await import('@opentelemetry/instrumentation-http');
const { IORedisInstrumentation } = await import('@opentelemetry/instrumentation-ioredis');

const probes = new Set(['/healthz', '/readyz', '/metrics']);

const sdk = new NodeSDK({
  instrumentations: [
    new HttpInstrumentation({
      ignoreIncomingRequestHook: ({ url }) => probes.has(url),
      // Sign-in's queries hold codes and states.
      requestHook(span, { url }) {
        if (url?.includes('?')) span.setAttribute('url.query', 'REDACTED');
      },
    }),
    // The name alone: keys hold riders' ids.
    new IORedisInstrumentation({ dbStatementSerializer: (command) => command }),
  ],
});
sdk.start();
process.once('beforeExit', () => void sdk.shutdown());
