import { readFileSync } from 'node:fs';
import type { Registry } from 'prom-client';
import type { ProjectorStatus } from '../../../projector/status/status.ts';
import { apiMetrics } from '../../../services/serve/metrics/api-metrics.ts';
import { processMetrics } from '../../../services/serve/metrics/process-metrics.ts';
import { projectorMetrics } from '../../../services/serve/metrics/projector-metrics.ts';
import { auditLog } from '../../../services/serve/sign-in/audit-log.ts';
import { silentLog } from './heard.ts';

/** Every metric that any process has, registered in one place. */
export function allMetrics(): Registry {
  const register = processMetrics(silentLog);
  const api = apiMetrics(register);
  api.measureCache({ bytes: 0, hits: 0, misses: 0 });
  api.measureStore(async () => true);
  api.measureUnledTags(() => 0);
  api.measureMemory({});
  api.measureSignInState(async () => false);
  api.measureSignInStore(() => true);
  auditLog({ info: () => undefined }, register);
  projectorMetrics(register).measure(() => ({ ready: true, status: () => idleStatus }));
  return register;
}

/** What a projector says that has nothing to do. */
export const idleStatus: ProjectorStatus = {
  role: 'leader',
  unreadableSinceMs: null,
  troubles: [],
  notes: [],
  waits: new Map(),
  partitions: [],
  tagsInRepair: 0,
  unresolvedRejects: new Map(),
  deletedFrom: new Set(),
};

/** Every query of the Grafana dashboard, with its panel's title, of one installation. */
export function dashboardQueries(chosen: { cluster: string; namespace: string }): { panel: string; query: string }[] {
  const file = new URL('../../../infra/deploy/grafana-dashboard.json', import.meta.url);
  const text = readFileSync(file, 'utf8')
    .replaceAll('$cluster', chosen.cluster)
    .replaceAll('$namespace', chosen.namespace);
  const { panels } = JSON.parse(text) as { panels: { title: string; targets?: { expr: string }[] }[] };
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: title, query: expr })));
}
