import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kafkaLogRecord } from '../../../infra/kafka/kafka-log-record.ts';
import type { EdgeLists } from '../../../projector/facts/edge-lists.ts';
import { EncodedEdges } from '../../../projector/facts/encoded-edges.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { RevisionWatch } from '../../../projector/facts/revision-watch.ts';
import { Intake } from '../../../projector/intake.ts';
import { realClock } from '../../../projector/ports/clock.ts';
import { decoded, type EncodedRecord, type Position } from '../../../projector/ports/event-log.ts';
import { silentLog } from '../../../projector/ports/log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import { FanOuts } from '../../../projector/writing/fan-outs.ts';
import { Marking } from '../../../projector/writing/marking.ts';
import { Marks } from '../../../projector/writing/marks.ts';
import { PositionBarriers } from '../../../projector/writing/position-barriers.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { type Attendance, type Relation, topicNames } from '../../../schemas/events/records.ts';
import { badKinds } from '../../support/bad-record-arb.ts';
import { type Change, changeOf, good } from '../../support/record-arbs.ts';
import * as universe from '../../support/universe.ts';

type Topic = EncodedRecord['topic'];
interface Bytes {
  topic: Topic;
  key: Buffer;
  value: Buffer;
}

const today = universe.eras.europeSpringsForward;
const writers = new WriterSchemas();

function record({ topic, key, value }: Bytes, offset = 0): EncodedRecord {
  const made = kafkaLogRecord(topic, 0, { offset, timestampMs: 7, key, value, headers: [] }, writers);
  if (typeof made === 'number' || !('decode' in made)) throw new Error('not delivered as bytes');
  return made;
}

const wideRevision = fc.constantFrom<number | bigint>(0, 2 ** 53 - 1, 2n ** 62n, -(2n ** 63n));
const isEdge = ({ topic, value }: Change): boolean =>
  (topic === 'attendance' || topic === 'relations') && value !== null;
const edge: fc.Arbitrary<Change> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...universe.nightSlots), fc.constantFrom(...universe.riders))
    .chain(([{ ride, offset }, rider]) => good.attendance(ride, today + offset, rider))
    .map((value) => changeOf('attendance', value)),
  fc
    .tuple(fc.constantFrom(...universe.riders), fc.constantFrom(...universe.riders))
    .chain(([rider, other]) => good.relation(rider, other))
    .map((value) => changeOf('relations', value)),
  fc.oneof(...Object.values(badKinds(today))).filter(isEdge),
);
const encoded: fc.Arbitrary<Bytes> = fc
  .tuple(edge, fc.option(wideRevision, { freq: 4 }))
  .map(([{ topic, key, value }, revision]) => ({
    topic: topic as Topic,
    key: Buffer.from(key),
    value: encodeValue(topic as 'attendance', (revision === null ? value : { ...value, revision }) as Attendance),
  }));

/** Bytes changed, cut off or added behind the header: mostly no longer a good record. */
const headerBytes = 10;
const damaged: fc.Arbitrary<Bytes> = fc
  .tuple(
    encoded,
    fc.constantFrom('key', 'value'),
    fc.nat(),
    fc.nat(255),
    fc.constantFrom('set', 'cut', 'add', 'insert'),
  )
  .map(([bytes, part, place, byte, how]) => {
    const from = part === 'key' ? 0 : headerBytes;
    const whole = Buffer.from(bytes[part as 'key']);
    const at = from + (place % Math.max(1, whole.length - from));
    if (how === 'set') whole[at] = byte;
    const changed =
      how === 'cut'
        ? whole.subarray(0, at)
        : how === 'add'
          ? Buffer.concat([whole, Buffer.from([byte])])
          : how === 'insert'
            ? Buffer.concat([whole.subarray(0, at), Buffer.from([byte]), whole.subarray(at)])
            : whole;
    return { ...bytes, [part]: changed };
  });

/** What an intake makes of records: the edges by their texts, and what it counted. */
async function taken(records: readonly Bytes[], asBytes: boolean) {
  const fold = new Fold();
  const marks = new Marks();
  const barriers = new PositionBarriers(Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Position);
  fold.touched = new Marking(fold.facts, marks, new FanOuts(fold.facts, new Set(), barriers));
  const counted: string[] = [];
  const intake = new Intake({
    fold,
    sink: null,
    barriers,
    clock: realClock,
    log: silentLog,
    metrics: {
      ...noMetrics,
      rejected: (topic, reason) => counted.push(`${topic}: ${reason}`),
      revisionRegressed: (topic) => counted.push(`${topic}: revision regressed`),
    },
    signal: new AbortController().signal,
  });
  for (const [offset, bytes] of records.entries()) {
    const one = record(bytes, offset);
    const batch = { topic: bytes.topic, partition: 0, records: [asBytes ? one : decoded(one)], nextOffset: offset + 1 };
    await intake.take(batch);
  }
  const { facts } = fold;
  const riders = Array.from({ length: facts.riderIds.size }, (_, rider) => facts.riderIds.text(rider));
  const listed = (lists: EdgeLists, text: (id: number) => string) =>
    Object.fromEntries(
      riders.map((id, rider) => [
        id,
        Array.from(
          { length: lists.length(rider) },
          (_, i) => `${text(lists.id(rider, i))} ${lists.bits(rider, i)}`,
        ).sort(),
      ]),
    );
  const edges = {
    attendance: listed(facts.attendance, (night) => facts.nightKeys.text(night)),
    relations: listed(facts.relations, (rider) => riders[rider]!),
    watchers: listed(facts.watchers, (rider) => riders[rider]!),
  };
  return {
    counted,
    edges,
    nights: facts.rides.map(({ id, nights }) => [id, [...nights]]),
    marked: [...marks.readerDays],
  };
}

describe('RSVPs and relations read in place', () => {
  it('become the same facts as decoded ones, and the same are bad for the same reasons', async () => {
    const log = fc.array(fc.oneof({ weight: 2, arbitrary: encoded }, { weight: 1, arbitrary: damaged }), {
      maxLength: 60,
      size: 'max',
    });
    await fc.assert(
      fc.asyncProperty(log, async (records) => {
        expect(await taken(records, true)).toEqual(await taken(records, false));
      }),
      { numRuns: 400 },
    );
  });

  it('are not decoded where they are good', () => {
    const edges = new EncodedEdges(new Fold());
    const rsvp: Attendance = {
      ...{ ride: 'ride1', day: today, rider: 'r1', response: 'GOING', saved: true },
      ...{ revision: 2n ** 60n, changed_at: 5 },
    };
    const relation: Relation = {
      ...{ rider: 'r1', other: 'r2', follows: true, close: false, flagged: false, blocked: false },
      ...{ revision: 1, changed_at: 5 },
    };
    for (const { topic, key, value } of [changeOf('attendance', rsvp), changeOf('relations', relation)]) {
      const bytes = encodeValue(topic as 'attendance', value as Attendance);
      const one = record({ topic: topic as Topic, key: Buffer.from(key), value: bytes });
      expect(edges.take(one, new RevisionWatch())).toBe(false);
    }
  });
});
