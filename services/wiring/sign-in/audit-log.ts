import { Counter, type Registry } from 'prom-client';
import { type AuditEvent, type AuditTrail, auditEvents } from '../../../api/oauth/audit-trail.ts';

const minuteMs = 60_000;
/** Strangers can cause events at will: of one kind this many lines a minute, while the counter counts all. */
const linesPerMinute = 20;

interface AuditLogger {
  info(facts: object, message: string): void;
}

/** The audit trail as log lines (`audit` names the event) and as a counter (docs/audit-trail.md). */
export function auditLog(log: AuditLogger, register: Registry, nowMs: () => number = Date.now): AuditTrail {
  const counter = new Counter({
    name: 'ride_calendar_audit_events_total',
    help: 'Security events, by event and cause',
    labelNames: ['event', 'cause'],
    registers: [register],
  });
  // A rise from nothing is seen only where there was a 0.
  for (const event of Object.keys(auditEvents)) counter.inc({ event, cause: '' }, 0);
  const lines = new Map<string, number>();
  let minute = 0;

  const isWorthALine = (kind: string): boolean => {
    const now = Math.floor(nowMs() / minuteMs);
    if (now !== minute) lines.clear();
    minute = now;
    const count = (lines.get(kind) ?? 0) + 1;
    lines.set(kind, count);
    return count <= linesPerMinute;
  };

  return (event: AuditEvent, { client, cause = '' } = {}) => {
    counter.inc({ event, cause });
    if (!isWorthALine(`${event} ${cause}`)) return;
    const facts = { audit: event, ...(cause && { cause }), ...(client && { client: client.slice(0, 200) }) };
    log.info(facts, `Security: ${auditEvents[event]}`);
  };
}
