import { expect, test } from 'vitest';
import type { Clock } from '../../../projector/ports/clock.ts';
import type { Log } from '../../../projector/ports/log.ts';
import { lookedAt, type WaitReason, Waits, waitReasons } from '../../../projector/watching/waits.ts';

/** A log that is kept, by level. */
function keptLog() {
  const lines: string[] = [];
  const log: Log = {
    info: (message) => void lines.push(`info ${message}`),
    warn: (message) => void lines.push(`warn ${message}`),
    error: (message) => void lines.push(`error ${message}`),
  };
  return { lines, log };
}

function watched() {
  const { lines, log } = keptLog();
  const clock = { ms: 1_000_000, nowMs: () => clock.ms, sleep: async () => {} };
  const since = new Map<WaitReason, number>();
  const sources = Object.fromEntries(waitReasons.map((reason) => [reason, () => since.get(reason) ?? null])) as Record<
    WaitReason,
    () => number | null
  >;
  const waits = new Waits(sources, { clock, log });
  const after = (ms: number): void => {
    clock.ms += ms;
    waits.look();
  };
  return { waits, clock, lines, since, after };
}

test('a wait that lasts is told once, as is its end', () => {
  const { clock, lines, since, after } = watched();
  since.set('kafka', clock.ms);
  after(1_900);
  expect(lines).toEqual([]);
  after(200);
  after(5_000);
  expect(lines).toEqual(['warn Waiting for 2.1 s for Kafka, which does not answer: changes are not read']);
  since.delete('kafka');
  after(5_000);
  after(500);
  expect(lines.slice(1)).toEqual(['info Kafka answers again, after 12.1 s']);
});

test('a short wait is not told, and a second one is counted from its own beginning', () => {
  const { clock, lines, since, after } = watched();
  since.set('redis', clock.ms);
  after(1_900);
  since.delete('redis');
  after(500);
  since.set('redis', clock.ms);
  after(1_900);
  expect(lines).toEqual([]);
  after(200);
  expect(lines).toHaveLength(1);
});

test('waits for several are told apart, and a standby’s is no warning', () => {
  const { waits, clock, lines, since, after } = watched();
  const begunMs = clock.ms;
  for (const reason of waitReasons) since.set(reason, begunMs);
  after(3_000);
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'warn', 'warn', 'warn', 'warn', 'info']);
  expect(waits.current()).toEqual(new Map(waitReasons.map((reason) => [reason, begunMs])));
});

test('a wait that goes over into another one of the same is one wait', () => {
  const lasting = lookedAt({ at: 'waiting', sinceMs: 0 }, { sinceMs: 0, nowMs: 2_000 });
  expect(lookedAt(lasting, { sinceMs: 2_500, nowMs: 3_000 })).toEqual({ at: 'lasting', sinceMs: 0 });
});

test('a process that stood still says so, and blames nobody else', async () => {
  const { lines, log } = keptLog();
  const stop = new AbortController();
  let nowMs = 0;
  let looks = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    async sleep(ms) {
      looks += 1;
      nowMs += looks === 2 ? 5_000 + ms : ms;
      if (looks === 4) stop.abort();
    },
  };
  // What was asked before it stood still was answered meanwhile, and is read a moment later.
  const none = () => null;
  const kafka = () => (looks === 2 ? 500 : null);
  const sources = { kafka, redis: none, registry: none, transaction: none, rejects: none, leader: none };
  await new Waits(sources, { clock, log }).watch(stop.signal);
  expect(lines).toEqual(['warn This process stood still for 5.0 s: stopped, or without a processor']);
});
