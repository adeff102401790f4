import { readFileSync } from 'node:fs';

interface Panel {
  title: string;
  type: string;
  targets?: { expr: string }[];
}

/** Every query of the Grafana dashboard, with its panel's title. */
export function dashboardQueries(): { panel: string; query: string }[] {
  const file = new URL('../../infra/deploy/grafana-dashboard.json', import.meta.url);
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: Panel[] };
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: title, query: expr })));
}
