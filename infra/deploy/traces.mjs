// Traces an API's requests by OpenTelemetry (docs/metrics.md#traces). The service does not depend on it: Node loads it first. Tried with
// Node 24 and version 0.223 of the instrumentations. Install it in a folder of its own, which a container mounts read-only:
//
//   mkdir -p /opt/traces && cd /opt/traces && npm init -y && cp /opt/ride-calendar/1/infra/deploy/traces.mjs .
//   npm install @opentelemetry/sdk-node @opentelemetry/instrumentation \
//     @opentelemetry/instrumentation-http @opentelemetry/instrumentation-ioredis
//
// Then start the API with these; OTEL_TRACES_EXPORTER=console prints the spans instead:
//
//   NODE_OPTIONS=--import=/opt/traces/traces.mjs
//   OTEL_SERVICE_NAME=ride-calendar-api
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
//   OTEL_METRICS_EXPORTER=none
//   OTEL_LOGS_EXPORTER=none
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
