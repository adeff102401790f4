import type { Registry } from 'prom-client';
import { type AuditTrail, auditEvents } from '../../../api/ports/audit-trail.ts';
import { lineLimit } from '../../../api/sign-in/limits/line-limit.ts';
import { metricsIn } from '../metrics/process-metrics.ts';

/** The audit trail as log lines, 20 of a kind a minute, and as a counter of all (docs/audit-trail.md). */
export function auditLog(
  log: { info(facts: object, message: string): void },
  register: Registry,
  nowMs?: () => number,
): AuditTrail {
  const { counter: declare } = metricsIn(register);
  const counter = declare('audit_events_total', 'Security events, by event and cause', ['event', 'cause']);
  // Prometheus sees an increase from 0 to 1, but not the first 1 of a series that was not there before.
  for (const [event, { causes }] of Object.entries(auditEvents)) {
    for (const cause of causes.length > 0 ? causes : ['']) counter.inc({ event, cause }, 0);
  }
  const isWorthALine = lineLimit(nowMs);
  return (...[event, facts]) => {
    const { client, cause = '' }: { client?: string | undefined; cause?: string } = facts ?? {};
    counter.inc({ event, cause });
    if (!isWorthALine(`${event} ${cause}`)) return;
    const told = { audit: event, ...(cause && { cause }), ...(client && { client: client.slice(0, 200) }) };
    log.info(told, `Security: ${auditEvents[event].when}`);
  };
}
