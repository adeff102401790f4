import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { auditEvents } from '../../../../api/ports/audit-trail.ts';
import { auditLog } from '../../../../services/serve/sign-in/audit-log.ts';

const counts = async (register: Registry) =>
  new Map(
    (await register.getSingleMetric('ride_calendar_audit_events_total')!.get()).values.map(({ labels, value }) => [
      `${labels.event} ${labels.cause}`,
      value,
    ]),
  );

test('an event is a line with its name, cause and client, and is counted', async () => {
  const register = new Registry();
  const lines: unknown[] = [];
  const audit = auditLog({ info: (...args) => void lines.push(args) }, register);
  audit('replay_found', { cause: 'code', client: 'app' });
  expect(lines).toEqual([
    [{ audit: 'replay_found', cause: 'code', client: 'app' }, expect.stringMatching(/^Security: a code or refresh/)],
  ]);
  const counted = await counts(register);
  expect(counted.get('replay_found code')).toBe(1);
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
  expect(pairs).toEqual(expect.arrayContaining(['replay_found refresh_token', 'consent ']));
});

test('of one kind there are 20 lines a minute, and all are counted', async () => {
  const register = new Registry();
  let lines = 0;
  let nowMs = 0;
  const audit = auditLog({ info: () => void lines++ }, register, () => nowMs);
  for (let i = 0; i < 50; i++) audit('token_refused', { cause: 'expired' });
  audit('token_refused', { cause: 'signature' });
  expect(lines).toBe(21);
  nowMs = 60_000;
  audit('token_refused', { cause: 'expired' });
  expect(lines).toBe(22);
  expect((await counts(register)).get('token_refused expired')).toBe(51);
});
