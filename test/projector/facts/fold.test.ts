import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { compareStored } from '../../../projector/checking/comparison.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import type { Interner } from '../../../projector/facts/interner.ts';
import { ignoreChanges, type Touched } from '../../../projector/facts/touched.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { district, gone, marks, metro, night, place, ride, rider, says } from '../../reference/example-log.ts';
import { badness, type LoggedRecord } from '../../reference/facts.ts';
import { projecting } from '../../support/processes/service.ts';
import { applyTo, foldOf, rendered } from '../../support/stores/rendered-views.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { historyArb } from '../../support/worlds/histories.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const numRuns = Number(process.env.RUNS ?? 100);

/** What the last record was about, as its key. */
function subjectText({ facts, subject: { first, second } }: Fold, topic: TopicName): string {
  const { metroIds, districtIds, riderIds, rideIds, nightKeys, keyIds } = facts;
  // Numbers of whatever kind the topic says.
  const text = (ids: Interner, number: number): string => ids.text(number);
  if (topic === 'attendance') return `${text(nightKeys, second)}/${text(riderIds, first)}`;
  if (topic === 'relations') return `${text(riderIds, first)}/${text(riderIds, second)}`;
  const ids = { metros: metroIds, districts: districtIds, riders: riderIds, rides: rideIds, nights: nightKeys };
  return second === 0 ? text({ ...ids, 'developer-keys': keyIds }[topic], first) : 'two subjects';
}

/** Folds good records. Afterwards it is as if there had never been any but the last of each key. */
function foldAll(records: readonly LoggedRecord[]): Fold {
  const fold = new Fold();
  for (const record of records) {
    applyTo(fold, record);
    expect(subjectText(fold, record.topic)).toBe(record.key);
  }
  const last = new Map(records.map((record) => [`${record.topic} ${record.key}`, record]));
  const { facts } = foldOf([...last.values()].filter(({ value }) => value !== null));
  expect(rendered(fold.facts)).toEqual(rendered(facts));
  expect(fold.facts.sum.text).toBe(facts.sum.text);
  for (const links of ['ridesOfMetro', 'nightsOfDay', 'nightsOfDistrict', 'led', 'keyHashes'] as const)
    expect(fold.facts[links].size).toBe(facts[links].size);
  return fold;
}

/** A fold whose changes are written to `store`. */
async function stored() {
  const store = new MemoryViewStore();
  return { store, ...(await projecting(store.writer())) };
}

// docs/rules.md#law, #last-record-wins, #going-count
it('a fold keeps what the last records say', () => {
  const good = (records: readonly LoggedRecord[]) => records.filter((record) => badness(record) === null);
  fc.assert(
    fc.property(historyArb(), ({ records }) => void foldAll(good(records))),
    { numRuns },
  );
});

it('a fold takes back what is gone and tells what it changes, step by step', async () => {
  const key = (hash: number): LoggedRecord => {
    const value = { ...sampleRecords['developer-keys'], key_hash: Buffer.alloc(32, hash) };
    return { topic: 'developer-keys', key: 'k1', value };
  };
  const [day, inAlameda] = ['2015-06-13', place({ district: 'alameda' })];
  const steps = [
    ...[metro('pdx'), rider('ada'), rider('bo'), ride('loop', { leaders: ['ada'] }), night('loop', day, inAlameda)],
    ...[metro('pdx', { time_zone: 'Asia/Tokyo' }), says('bo', 'GOING', 'loop', day)],
    ...[says('ada', 'NONE', 'loop', day, true), gone('riders', 'bo')],
    ...[rider('bo'), gone('riders', 'bo'), gone('riders', 'ada'), gone('riders', 'nobody'), rider('ada')],
    ...[ride('loop', { metro: 'other', leaders: ['bo'] }), ride('loop', { leaders: ['bo', 'ada'] })],
    ...[marks('ada', 'bo', 'follows'), rider('bo'), says('bo', 'NONE', 'loop', day), says('bo', 'GOING', 'loop', day)],
    ...[marks('ada', 'bo', 'blocked'), gone('relations', 'ada/bo'), gone('nights', `loop/${day}`)],
    ...[night('loop', day, inAlameda), district('alameda'), gone('districts', 'alameda')],
    ...[night('loop', day, place({ district: 'other' })), gone('rides', 'loop'), gone('rides', 'loop')],
    ...[gone('nights', `loop/${day}`), gone('nights', `loop/${day}`)],
    ...[gone('attendance', `loop/${day}/bo`), gone('attendance', `loop/${day}/ada`), key(1), key(2)],
    ...[gone('developer-keys', 'k1'), gone('developer-keys', 'k1'), metro('pdx', { time_zone: 'UTC' })],
    ...[gone('metros', 'pdx'), gone('riders', 'ada'), gone('riders', 'bo')],
  ];
  const { fold, facts, settle, store, mend } = await stored();
  for (const [i, step] of steps.entries()) {
    foldAll(steps.slice(0, i + 1));
    // What it told shows in the views: also what is gone from where it was, and what came to where it is.
    applyTo(fold, step);
    await settle();
    expect(await compareStored(facts, store.writer().list(allTags), allTags, mend)).toBe(0);
  }
  expect(foldAll(steps).facts.sum.text).toBe('0'.repeat(32));
});

it('all who listen are told the same changes, who has left is told no more, and what is said again is mostly no change', () => {
  const fold = new Fold();
  const told: unknown[][][] = [[], [], []];
  const leave = told.map((list) => {
    const tell =
      (what: string) =>
      (...about: number[]) =>
        void list.push([what, ...about]);
    const listener = Object.fromEntries(Object.keys(ignoreChanges).map((what) => [what, tell(what)]));
    return fold.subscribe(listener as unknown as Touched);
  });
  leave[2]!();
  const key: LoggedRecord = { topic: 'developer-keys', key: 'k1', value: sampleRecords['developer-keys'] };
  const day = '2015-06-13';
  const world = [
    ...[metro('pdx'), rider('ada'), ride('loop', { leaders: ['ada'] }), night('loop', day)],
    ...[says('ada', 'GOING', 'loop', day), key, marks('ada', 'bo', 'follows')],
  ];
  for (const record of world) applyTo(fold, record);
  const [first, second, third] = told;
  expect([second, third]).toEqual([first, []]);
  expect(new Set(first!.map(([what]) => what))).toEqual(new Set(Object.keys(ignoreChanges)));
  first!.length = 0;
  for (const record of [...world, says('ada', 'CONFIRMED', 'loop', day)]) applyTo(fold, record);
  expect(first!.map(([what]) => what)).toEqual(['card', 'ride', 'night', 'own']);
});

// Fields that refer to others are not checked: whatever stands there must do no harm.
const odd = ['', '/', 'a/b', '|', 'day:', '{v1}', '\u0000', '🚲'];

// docs/rules.md#absent-references, #unchecked-references
it.each(odd)('a ride whose metro, leader and district are %j is kept and shows nowhere', async (text) => {
  const { fold, facts, settle, store, mend } = await stored();
  applyTo(fold, ride('oddone', { metro: text, leaders: [text] }));
  applyTo(fold, night('oddone', '2013-10-22', place({ place_name: 'x', district: text })));
  await settle();
  expect(await compareStored(facts, store.writer().list(allTags), allTags, mend)).toBe(0);
  expect(await dumpViews(store)).toEqual(new Map());
});
