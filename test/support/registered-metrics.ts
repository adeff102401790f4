import type { Registry } from 'prom-client';
import { apiMetrics } from '../../services/wiring/http/api-metrics.ts';
import { processMetrics } from '../../services/wiring/http/process-metrics.ts';
import { projectorMetrics } from '../../services/wiring/projector/projector-metrics.ts';
import { auditLog } from '../../services/wiring/sign-in/audit-log.ts';
import { idleStatus } from './idle-status.ts';

/** Every metric that any process has, registered in one place. */
export function allMetrics(): Registry {
  const register = processMetrics();
  const api = apiMetrics(register);
  api.watchCache({ bytes: 0, hits: 0, misses: 0 });
  api.watchStore(async () => true);
  api.watchSignInState(async () => false);
  api.watchSignInStore(() => true);
  auditLog({ info: () => undefined }, register);
  projectorMetrics(register).watch(() => ({ ready: true, status: () => idleStatus }));
  return register;
}

/** Their names, as a query spells them: of a histogram with `_bucket`, `_count` and `_sum` too. */
export async function metricNames(register: Registry = allMetrics()): Promise<Set<string>> {
  const names = (await register.getMetricsAsJSON()).map(({ name }) => name);
  return new Set(names.flatMap((name) => ['', '_bucket', '_count', '_sum'].map((suffix) => name + suffix)));
}
