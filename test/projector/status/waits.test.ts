import { expect, test } from 'vitest';
import { Waits, waitReasons } from '../../../projector/status/waits.ts';
import { keptLog } from '../../support/processes/heard.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

function watched() {
  const { lines, log } = keptLog();
  const clock = new SteppingClock();
  const waits = new Waits({ clock, log, logStatus: () => null });
  const after = (ms: number): void => {
    clock.ms += ms;
    waits.tell();
  };
  return { waits, clock, lines, after };
}

test('a wait that lasts is told once, as is its end, each counted from its own beginning', () => {
  const { waits, clock, lines, after } = watched();
  clock.wallAheadMs = 60_000;
  waits.begin('kafka');
  after(1_900);
  waits.end('kafka');
  after(500);
  waits.begin('kafka');
  after(1_900);
  expect(lines).toEqual([]);
  after(200);
  after(5_000);
  expect(waits.words([])).toEqual([expect.stringMatching(/^since 1970-01-01T00:17:42Z it has waited for Kafka/)]);
  waits.end('kafka');
  after(5_000);
  after(500);
  expect(lines).toEqual([
    'Waiting for 2.1 s for Kafka, which does not answer or lacks topics: changes are not read',
    'Kafka answers again, after 12.1 s',
  ]);
});

test('a wait goes on while one of several things is waited for, and says why it does', () => {
  const { waits, clock, lines, after } = watched();
  const begunMs = clock.ms;
  waits.begin('redis', 'tag 1');
  after(1_000);
  waits.begin('redis', 'tag 2');
  waits.begin('redis', 'tag 1', new Error('OOM'));
  after(1_000);
  expect(lines).toEqual([expect.stringMatching(/^Waiting for 2\.0 s for the view store, .* \(OOM\)$/)]);
  waits.end('redis', 'tag 1');
  after(1_000);
  expect(waits.current()).toEqual(new Map([['redis', begunMs + 1_000]]));
  waits.end('redis', 'tag 2');
  after(1_000);
  expect(lines.slice(1)).toEqual(['The view store answers again, after 4.0 s']);
});

test('each thing that is waited for has its own words, as it begins and as it ends', () => {
  const { waits, lines, after } = watched();
  for (const reason of waitReasons) {
    waits.begin(reason);
    after(2_000);
    waits.end(reason);
    after(0);
  }
  expect(lines.map((line) => line.replace(/^Waiting for 2\.0 s for |, after 2\.0 s$/g, ''))).toEqual([
    ...['Kafka, which does not answer or lacks topics: changes are not read', 'Kafka answers again'],
    'the view store, which does not answer, answers late or takes no writes: changes are not readable, or late',
    'The view store answers again',
    'the schema registry: partitions whose schemas it has are not read on',
    'The schema registry answers again',
    ...['a producer to end its transaction: what follows it is hidden', 'The open transaction has ended'],
    ...['the topic of rejected records: the position does not move on', 'Rejected records are copied again'],
    ...['the leader to go: this projector stands by', 'Standing by has ended'],
  ]);
});

test('a process that stood still says so, and blames nobody else', async () => {
  const { lines, log } = keptLog();
  const stop = new AbortController();
  const clock = new SteppingClock();
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms) => {
    if (clock.slept.length === 1) clock.ms += 2_000;
    if (clock.slept.length === 3) stop.abort();
    return sleep(ms);
  };
  // What was asked before it stood still was answered meanwhile, and is read a moment later.
  const logStatus = () => (clock.slept.length === 2 ? { partitions: [], silentSinceMs: 1_000_500 } : null);
  await new Waits({ clock, log, logStatus }).run(stop.signal);
  expect(new Set(clock.slept)).toEqual(new Set([500]));
  expect(lines).toEqual(['This process stood still for 2.0 s: stopped, or without a processor']);
});
