import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { auditEvents } from '../../../../api/ports/audit-trail.ts';
import { auditLog } from '../../../../services/serve/sign-in/audit-log.ts';

const counts = async (register: Registry) => {
  const { values } = await register.getSingleMetric('ride_calendar_audit_events_total')!.get();
  return new Map(values.map(({ labels, value }) => [`${labels.event} ${labels.cause}`, value]));
};

test('an event is a line with its name, cause and client, of one kind 20 a minute, and all are counted', async () => {
  const register = new Registry();
  const lines: unknown[] = [];
  let nowMs = 0;
  const audit = auditLog({ info: (...args) => void lines.push(args) }, register, () => nowMs);
  audit('replay_found', { cause: 'code', client: 'app' });
  expect(lines).toEqual([
    [{ audit: 'replay_found', cause: 'code', client: 'app' }, expect.stringMatching(/^Security: a code or refresh/)],
  ]);
  audit('client_registered', { client: 'x'.repeat(300) });
  expect(lines.pop()).toMatchObject([{ client: 'x'.repeat(200) }, {}]);
  for (let i = 0; i < 50; i++) audit('token_refused', { cause: 'expired' });
  audit('token_refused', { cause: 'signature' });
  expect(lines.length).toBe(1 + 21);
  nowMs = 60_000;
  audit('token_refused', { cause: 'expired' });
  expect(lines.length).toBe(1 + 22);
  const counted = await counts(register);
  expect(['replay_found code', 'token_refused expired'].map((name) => counted.get(name))).toEqual([1, 51]);
});

test('every event begins at 0 with each of its causes, so that an alert sees the first one', async () => {
  const register = new Registry();
  auditLog({ info: () => undefined }, register);
  const counted = await counts(register);
  expect([...counted.values()].every((value) => value === 0)).toBe(true);
  const pairs = Object.entries(auditEvents).flatMap(([event, { causes }]) =>
    causes.length > 0 ? causes.map((cause) => `${event} ${cause}`) : [`${event} `],
  );
  expect([...counted.keys()]).toEqual(pairs);
});
