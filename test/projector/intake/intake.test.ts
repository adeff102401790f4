import { describe, expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import { Intake } from '../../../projector/intake/intake.ts';
import type { EncodedRecord, LogBatch, Position, Reject, RejectSink } from '../../../projector/ports/event-log.ts';
import { noMetrics, type ProjectorMetrics } from '../../../projector/ports/metrics.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { kindOf } from '../../../schemas/avro/undecodable.ts';
import type { AnyRecord } from '../../../schemas/events/records.ts';
import { isSettled } from '../../support/stores/event-loop-turns.ts';
import { logOf, positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const start = positionAt();
const at = (riders: number): Position => positionAt({ riders });

/** An intake whose bad records go to a list, once `accepts` says so. */
function intakeWith(accepts: (rejects: Reject[]) => void | Promise<void>, withSink = true) {
  const fold = new Fold();
  const barriers = new PositionBarriers(start);
  const shared = sharedDeps();
  const published: Reject[] = [];
  const counted: string[] = [];
  const sink: RejectSink = {
    async publish(rejects) {
      await accepts(rejects);
      published.push(...rejects);
      return rejects.length;
    },
    holdsAll: async () => true,
    async close() {},
  };
  const metrics: ProjectorMetrics = {
    ...noMetrics,
    rejected: (topic, reason) => counted.push(`${topic}: ${reason}`),
    folded: (topic, records) => counted.push(`${records} of ${topic} folded`),
    timestamps: (topic, partition, latestMs) => counted.push(`${topic}/${partition} up to ${latestMs}`),
    revisionRegressed: (topic) => counted.push(`a lower revision in ${topic}`),
  };
  const intake = new Intake({ ...shared, fold, barriers, metrics, sink: withSink ? sink : null, eventLog: logOf() });
  intake.aside.begin();
  return { intake, fold, barriers, clock: shared.clock, published, counted };
}

/** The position that may be stored once a round that began there is written. */
const settled = (barriers: PositionBarriers, position: Position): Position =>
  barriers.settled({ round: 99, position, sum: '' }, { fanOutsStored: true }).position;

const place = { topic: 'riders', partition: 0, timestampMs: 7 } as const;
const [key, value] = [Buffer.from('r1'), Buffer.from('?')];
const raw: Reject['raw'] = { key, value, headers: { h: Buffer.from('x') } };
const rider = (offset: number, id: string, value: AnyRecord | null = { ...sampleRecords.riders, rider: id }) =>
  toLogRecord({ ...place, offset, timestampMs: 100 - offset, key: id, value });
const undecodable = (offset: number, as = raw): EncodedRecord => ({
  ...place,
  offset,
  keyBytes: key,
  valueBytes: value,
  decoder: 'unknown schema id',
  raw: () => as,
});
/** Half its bytes are its value's. */
const sized = (offset: number, bytes: number) => {
  const part = Buffer.alloc(bytes / 4);
  return undecodable(offset, { key: part, value: Buffer.alloc(bytes / 2), headers: { part } });
};
const batch = (...records: LogBatch['records']): LogBatch => ({
  topic: 'riders',
  partition: 0,
  records,
  nextOffset: records.at(-1)!.offset + 1,
});

describe('a bad record', () => {
  // docs/rules.md#rejected, #last-good-record
  it('is set aside as it came, with its place and its reason, and leaves its key’s last good record in force', async () => {
    const { intake, fold, published, counted } = intakeWith(() => {});
    const other = rider(5, 'r1', { ...sampleRecords.riders, rider: 'r2' });
    await intake.take(batch(rider(0, 'r1'), undecodable(1), rider(4, 'not an id'), other, rider(6, 'r3')));
    await intake.aside.drain();
    const { facts } = fold;
    expect(['r1', 'r2', 'r3', 'not an id'].map((id) => facts.riderIds.find(id))).toEqual([0, -1, 1, -1]);
    expect([...facts.riderIds.numbers()].map((number) => facts.riderExists(number))).toEqual([true, true]);
    expect(published).toEqual([
      { ...place, offset: 1, reason: 'unknown schema id', raw },
      expect.objectContaining({
        offset: 4,
        reason: 'key does not match its pattern: field rider: want ^[A-Za-z0-9_-]{1,64}$',
      }),
      expect.objectContaining({ offset: 5, reason: 'key disagrees with value: field rider: want what the key has' }),
    ]);
    const kinds = published.map(({ reason }) => `riders: ${kindOf(reason)}`);
    expect(counted).toEqual([...kinds, '5 of riders folded', 'riders/0 up to 100']);
    const revised = (offset: number, revision: number) =>
      rider(offset, 'r1', { ...sampleRecords.riders, rider: 'r1', revision });
    counted.length = 0;
    // A tombstone has no revision, whatever that of another key's record before it.
    await intake.take(batch(revised(7, 2), revised(8, 1), revised(9, 9), rider(10, 'r3'), rider(11, 'r1', null)));
    expect(counted).toEqual(['a lower revision in riders', '5 of riders folded', 'riders/0 up to 93']);
  });

  it('holds the position back until it is acknowledged, tried longer each time up to two seconds, and is published once', async () => {
    let failures = 8;
    const { intake, fold, clock, barriers, published } = intakeWith(() => {
      if (failures-- > 0) throw new Error('no connection');
    });
    await intake.take(batch(undecodable(0)));
    await intake.take(batch(rider(1, 'good1')));
    barriers.begin(at(2), '');
    expect([fold.facts.riderIds.find('good1'), settled(barriers, at(2))]).toEqual([0, start]);
    await intake.aside.drain();
    // The first second is that of its line in the log.
    expect(clock.slept).toEqual([1_000, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
    expect(published.map(({ offset }) => offset)).toEqual([0]);
    expect(settled(barriers, at(2))).toEqual(at(2));
  });

  it('is only counted where there is nowhere to set it aside', async () => {
    const { intake, published, counted, barriers } = intakeWith(() => {}, false);
    await intake.take(batch(undecodable(0)));
    await intake.aside.drain();
    expect([published, counted[0]]).toEqual([[], 'riders: unknown schema id']);
    expect(settled(barriers, at(1))).toEqual(at(1));
  });

  it('makes the log wait only with more than a thousand, or 64 MiB, not acknowledged', async () => {
    let accepted = Promise.withResolvers<void>();
    const [intake, other] = [0, 1].map(() => intakeWith(() => accepted.promise).intake) as [Intake, Intake];
    const small = Array.from({ length: 500 }, (_, i) => undecodable(i));
    await intake.take(batch(...small));
    await intake.take(batch(...small));
    expect(await isSettled(intake.take(batch(undecodable(0))))).toBe(false);
    await other.take(batch(sized(0, 64 << 20)));
    expect(await isSettled(other.take(batch(undecodable(1, { key: null, value, headers: {} }))))).toBe(false);
    accepted.resolve();
    await Promise.all([intake.aside.drain(), other.aside.drain()]);
    // Nothing is pending any more.
    accepted = Promise.withResolvers<void>();
    await intake.take(batch(...small));
    await other.take(batch(sized(2, 64 << 20)));
  });
});
