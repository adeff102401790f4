import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { decoded, type LogRecord } from '../../../projector/ports/decoded-record.ts';
import { answer, isLive } from '../../reference/answers.ts';
import { badness, type Facts, latestRecords } from '../../reference/facts.ts';
import type { CalendarRequest } from '../../reference/requests.ts';
import { badKinds } from './bad-record-arb.ts';
import { type History, historyArb, worldArb } from './histories.ts';
import { compactions, deliveries, interleavings, partitionsOf } from './log-orders.ts';
import { goodChange } from './record-arbs.ts';
import { clockArb, everyRequest, requestArb } from './request-arbs.ts';
import { eras, keyTexts, secretMark } from './universe.ts';

const today = eras.stJohnsTurnsBack;

/** Facts as one comparable value: keys in order. */
function sorted(facts: Facts): unknown {
  return Object.entries(facts).map(([topic, ofTopic]) => [
    topic,
    [...ofTopic].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]);
}

describe('the records of random histories', () => {
  it('are good where they say so', () => {
    fc.assert(
      fc.property(goodChange(today), (change) => {
        expect(badness(change)).toBeNull();
      }),
    );
  });

  it.each(Object.entries(badKinds(today)))('are bad where they say so: %s', (_kind, change) => {
    fc.assert(
      fc.property(change, (record) => {
        expect(badness(record)).not.toBeNull();
      }),
    );
  });

  it('are in their partitions by key, in the order of their offsets', () => {
    fc.assert(
      fc.property(historyArb(), (history) => {
        const placeOf = new Map<string, number>();
        for (const { topic, key, partition } of history.records) {
          expect(placeOf.get(`${topic} ${key}`) ?? partition).toBe(partition);
          placeOf.set(`${topic} ${key}`, partition);
        }
        for (const { records } of partitionsOf(history)) {
          const offsets = records.map((record) => record.offset);
          expect(offsets).toEqual([...new Set(offsets)].toSorted((a, b) => a - b));
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('other ways to see one log', () => {
  const withOther = <T>(other: (history: History) => fc.Arbitrary<T>) =>
    historyArb().chain((history) => fc.tuple(fc.constant(history), other(history)));

  it('interleavings hold the same facts', () => {
    fc.assert(
      fc.property(withOther(interleavings), ([history, records]) => {
        expect(records).toHaveLength(history.records.length);
        expect(sorted(latestRecords(records))).toEqual(sorted(latestRecords(history.records)));
      }),
      { numRuns: 20 },
    );
  });

  it('deliveries end with the same facts, and with every partition at its end', () => {
    fc.assert(
      fc.property(withOther(deliveries), ([history, batches]) => {
        const records = batches.flatMap((batch) => batch.records.map(decoded)) as LogRecord[];
        expect(sorted(latestRecords(records))).toEqual(sorted(latestRecords(history.records)));
        for (const { topic, partition, records: published } of partitionsOf(history)) {
          const last = batches.findLast((batch) => batch.topic === topic && batch.partition === partition);
          expect(last?.nextOffset ?? 0).toBe((published.at(-1)?.offset ?? -1) + 1);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('compactions of a log without bad records hold the same facts', () => {
    fc.assert(
      fc.property(
        withOther((history) => compactions(withoutBad(history))),
        ([history, compacted]) => {
          expect(sorted(latestRecords(compacted.records))).toEqual(sorted(latestRecords(withoutBad(history).records)));
        },
      ),
      { numRuns: 20 },
    );
  });

  const withoutBad = (history: History): History => ({
    ...history,
    records: history.records.filter((record) => badness(record) === null),
  });

  it('a compaction may take a good record for a bad later one’s sake', () => {
    const differs = ([history, compacted]: [History, History]): boolean =>
      JSON.stringify(sorted(latestRecords(history.records))) !==
      JSON.stringify(sorted(latestRecords(compacted.records)));
    expect(fc.sample(withOther(compactions), { numRuns: 200, seed: 1 }).filter(differs).length).toBeGreaterThan(10);
  });
});

describe('worlds', () => {
  /** Of 250 worlds with a request each: how often each thing was seen, at least once in the answer. */
  const counts = new Map<string, number>();
  const saw = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  beforeAll(() => {
    const sampled = worldArb().chain((history) =>
      fc.tuple(fc.constant(history), clockArb(history), requestArb(history)),
    );
    for (const [history, clockMs, request] of fc.sample(sampled, { numRuns: 250, seed: 20150613 })) {
      const facts = latestRecords(history.records);
      see(request, answer(facts, clockMs, request));
      if (isLive(facts, keyTexts[0]!)) saw('a live key');
      else saw('a key that is not live');
      if (history.records.some((record) => badness(record) !== null)) saw('a bad record');
      if (JSON.stringify(history.records).includes(secretMark)) saw('a secret place in the log');
      const whole = wholeAnswers(facts, history, clockMs);
      if (whole.includes(secretMark)) saw('a secret place');
      if (whole !== wholeAnswers(withoutBlocks(facts), history, clockMs)) saw('a block that hides somebody');
      for (const [what, pattern] of Object.entries(sights)) if (pattern.test(whole)) saw(what);
    }
  }, 120_000);

  function see(request: CalendarRequest, found: ReturnType<typeof answer>): void {
    saw(`${request.operation} ${found.status}`);
    if (found.status === 200 && !/^\{"nights":\[\]|"nights":\[\],?("url"|\})/.test(found.body)) {
      saw(`${request.operation} with nights`);
    }
  }

  it.each([
    ...['getDay', 'getRide', 'getMyNights', 'getKnown', 'getFriends', 'getFlagged'].map((operation) => [
      `${operation} with nights`,
      10,
    ]),
    ['getDay 400', 1],
    ['getRide 404', 2],
    ['getMyNights 401', 2],
    ['a live key', 50],
    ['a key that is not live', 50],
    ['a bad record', 100],
    ['a secret place in the log', 150],
    ['a block that hides somebody', 100],
  ] as [string, number][])('show %s in at least %i of 250', (what, least) => {
    expect(counts.get(what) ?? 0).toBeGreaterThanOrEqual(least);
  });

  it.each(Object.keys(sights))('show %s in at least a fifth', (what) => {
    expect(counts.get(what) ?? 0).toBeGreaterThanOrEqual(50);
  });

  it('never show a secret place', () => {
    expect(counts.get('a secret place')).toBeUndefined();
  });
});

const sights = {
  'two nights of one day':
    /"metro":"[a-z-]+","day":"[-0-9]+","nights":\[\{(?:(?!"meeting").)*"meeting":\{[^}]*\}[^}]*\},\{/,
  'a past night': /"past":true/,
  'a night to come': /"past":false/,
  'a cancelled night with its reason': /"cancelled","cancellation_reason":"/,
  'a withheld night that shows its neighbourhood': /"withheld":true,"place_name":null,"neighbourhood":"/,
  'a city': /"neighbourhood":"[^"]*","neighbourhood_slug":null/,
  'a night led': /"why":"led"/,
  'a night ridden': /"why":"ridden"/,
  'a night gone to': /"why":"going"/,
  'a night saved': /"why":"saved"/,
  'more known than named': /"known":[3-9]/,
  'a close friend': /"close":true,"following":false/,
  'a flagged friend': /"following":true,"flagged":true/,
  'a flagged rider': /"flagged":\[\{"ride":/,
};

function wholeAnswers(facts: Facts, history: History, clockMs: number): string {
  const isTelling = (request: CalendarRequest): boolean => !('from' in request) || request.metro === 'portland';
  return everyRequest(history)
    .filter(isTelling)
    .map((request) => answer(facts, clockMs, request))
    .map((found) => (found.status === 200 ? found.body : ''))
    .join('\n');
}

function withoutBlocks(facts: Facts): Facts {
  const relations = [...facts.relations].map(([key, value]) => [key, { ...value, blocked: false }] as const);
  return { ...facts, relations: new Map(relations) };
}
