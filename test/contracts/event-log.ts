import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LogRecord, UndecodableRecord } from '../../projector/ports/decoded-record.ts';
import {
  type EventLog,
  type LogBatch,
  LogTruncatedError,
  MissingTopicsError,
  PartitionsChangedError,
  type Position,
} from '../../projector/ports/event-log.ts';
import { kindOf } from '../../schemas/avro/undecodable.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { type AnyRecord, byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import { Following } from '../support/servers/following.ts';
import { decodeValue } from '../support/worlds/judged-record.ts';
import { rider, sampleRecords } from '../support/worlds/records.ts';

interface FixtureRecord {
  key: string;
  value: AnyRecord | null;
  timestampMs: number;
}

/** A log of its own for one test. */
export interface EventLogFixture {
  /** Makes the eight topics, with so many partitions each. */
  createTopics(partitions: number): Promise<void>;
  append(topic: TopicName, partition: number, records: FixtureRecord[]): Promise<void>;
  /** A record with a key and a value that can't be decoded. */
  appendUndecodable(topic: TopicName, partition: number, key: string): Promise<void>;
  /** Uses up some offsets without a record, as compaction and transactions do. */
  skipOffsets(topic: TopicName, partition: number, count: number): Promise<void>;
  addPartition(topic: TopicName): Promise<void>;
  /** Takes the records below an offset away; there are some above. */
  deleteBefore(topic: TopicName, partition: number, offset: number): Promise<void>;
  open(): EventLog;
  close(): Promise<void>;
}

const from = (partitions: number, changed: Partial<Position> = {}): Position => ({
  ...byTopic(() => Array<number>(partitions).fill(0)),
  ...changed,
});
const riders = (count: number, name = 'r') => Array.from({ length: count }, (_, i) => rider(`${name}${i}`));

/** The promises of projector/ports/event-log.ts, which every adapter keeps. `grows`: also while it is open. */
export function eventLogContract(
  name: string,
  makeFixture: () => Promise<EventLogFixture>,
  { grows = true } = {},
): void {
  describe(`${name} as an event log`, () => {
    let fixture: EventLogFixture;
    const followings: Following[] = [];
    const logs: EventLog[] = [];

    beforeEach(async () => {
      fixture = await makeFixture();
    });
    afterEach(async () => {
      for (const following of followings.splice(0)) await following.stop().catch(() => undefined);
      for (const log of logs.splice(0)) await log.close();
      await fixture.close();
    });

    const open = () => {
      const log = fixture.open();
      logs.push(log);
      return log;
    };
    const follow = (position: Position, onBatch?: (batch: LogBatch) => Promise<void>, log = open()) => {
      const following = new Following(log, position, onBatch);
      followings.push(following);
      return following;
    };

    test('without topics there are no bounds, and another partition than the position has ends the following', async () => {
      await expect(open().bounds()).rejects.toThrow(MissingTopicsError);
      await fixture.createTopics(2);
      await expect(follow(from(1)).done).rejects.toThrow(PartitionsChangedError);
    });

    test('the end is one more than the last offset, also after ones without a record, and who is there has all before it', async () => {
      await fixture.createTopics(2);
      const empty = { low: 0, end: 0 };
      expect(await open().bounds()).toEqual(Object.fromEntries(topicNames.map((topic) => [topic, [empty, empty]])));
      await fixture.append('riders', 1, riders(1_234));
      await fixture.skipOffsets('riders', 1, 10);
      await fixture.append('riders', 1, riders(5));
      const log = open();
      expect((await log.bounds()).riders).toEqual([empty, { low: 0, end: 1_249 }]);
      const following = follow(from(2), undefined, log);
      await expect.poll(() => following.position.riders[1]).toBe(1_249);
      const offsets = Array.from({ length: 1_249 }, (_, i) => i);
      expect(following.records.map(({ offset }) => offset)).toEqual(offsets.toSpliced(1_234, 10));
    });

    test('every record comes with its place, time, key and value, in order', async () => {
      await fixture.createTopics(1);
      for (const topic of topicNames) {
        const record = { key: 'käy/1', value: sampleRecords[topic], timestampMs: 1_700_000_000_123 };
        await fixture.append(topic, 0, [record, { ...record, value: null, timestampMs: 1_700_000_000_124 }]);
      }
      const following = follow(from(1));
      await expect.poll(() => following.records).toHaveLength(16);
      for (const topic of topicNames) {
        const [record, tombstone] = following.records.filter((one) => one.topic === topic) as LogRecord[];
        const place = { topic, partition: 0, key: 'käy/1' };
        const value = sampleRecords[topic];
        expect(record).toMatchObject({ ...place, offset: 0, timestampMs: 1_700_000_000_123, value });
        expect(tombstone).toMatchObject({ ...place, offset: 1, timestampMs: 1_700_000_000_124, value: null });
        // As it came.
        expect(record!.raw().key).toEqual(Buffer.from('käy/1'));
        expect(decodeValue(topic, record!.raw().value!, new WriterSchemas())).toEqual({ value });
        expect(tombstone!.raw()).toEqual({ key: Buffer.from('käy/1'), value: null, headers: {} });
      }
    });

    test('a record that can not be decoded stands in its place, and the rest goes on', async () => {
      await fixture.createTopics(1);
      await fixture.append('rides', 0, [{ key: 'a', value: sampleRecords.rides, timestampMs: 1 }]);
      await fixture.appendUndecodable('rides', 0, 'b');
      await fixture.append('rides', 0, [{ key: 'c', value: sampleRecords.rides, timestampMs: 1 }]);
      const following = follow(from(1));
      await expect.poll(() => following.texts).toEqual(['a@0', '!@1', 'c@2']);
      const bad = following.records[1] as UndecodableRecord;
      expect(kindOf(bad.undecodable)).toMatch(/^[a-zA-Z0-9 -]{3,40}$/);
      expect(bad.raw().key).toEqual(Buffer.from('b'));
      expect(bad.raw().value).toBeInstanceOf(Buffer);
    });

    test('it begins at the position given, at an offset without a record with the one after, and not below what is left or beyond the end', async () => {
      await fixture.createTopics(1);
      await fixture.append('riders', 0, riders(3, 'a'));
      await fixture.skipOffsets('riders', 0, 3);
      await fixture.append('riders', 0, riders(1, 'c'));
      for (const [offset, texts] of [
        [2, ['a2@2', 'c0@6']],
        [4, ['c0@6']],
      ] as const) {
        const following = follow(from(1, { riders: [offset] }));
        await expect.poll(() => following.position.riders).toEqual([7]);
        expect(following.texts).toEqual(texts);
      }
      await fixture.deleteBefore('riders', 0, 2);
      const log = open();
      expect((await log.bounds()).riders).toEqual([{ low: 2, end: 7 }]);
      for (const offset of [1, 8])
        await expect(follow(from(1, { riders: [offset] }), undefined, log).done).rejects.toThrow(LogTruncatedError);
    });

    // docs/rules.md#partition-growth
    if (grows)
      test('it goes on as the log grows, until a partition is added, with words on new topics', async () => {
        await fixture.createTopics(1);
        const log = open();
        const following = follow(from(1), undefined, log);
        for (let i = 0; i < 3; i++) {
          await fixture.append('riders', 0, [rider(`r${i}`)]);
          await expect.poll(() => following.texts.at(-1)).toBe(`r${i}@${i}`);
          expect((await log.bounds()).riders).toEqual([{ low: 0, end: i + 1 }]);
        }
        await fixture.append('nights', 0, [{ key: 'n', value: sampleRecords.nights, timestampMs: 1 }]);
        await expect.poll(() => following.position).toEqual(from(1, { riders: [3], nights: [1] }));
        await fixture.addPartition('riders');
        await expect(following.done).rejects.toThrow(PartitionsChangedError);
        await expect(following.done).rejects.toThrow(/riders: it had 1 partitions and has 2.*KAFKA_TOPIC_PREFIX/);
      });

    test('one batch is handed over at a time, over all partitions; an abort waits for it, and nothing comes after', async () => {
      await fixture.createTopics(3);
      for (const partition of [0, 1, 2]) await fixture.append('riders', partition, riders(20));
      let [inHand, most] = [0, 0];
      const log = open();
      const handsOver = (then = (_: Following): void => {}) => {
        const following: Following = follow(
          from(3),
          async () => {
            most = Math.max(most, ++inHand);
            then(following);
            await sleep(20);
            inHand--;
          },
          log,
        );
        return following;
      };
      const failing = follow(from(3), () => Promise.reject(new Error('the store is gone')), log);
      await expect(failing.done).rejects.toThrow('gone');
      const whole = handsOver();
      await expect.poll(() => whole.records).toHaveLength(60);
      await whole.stop();
      const aborted = handsOver((following) => following.abort());
      await aborted.done;
      expect([most, inHand]).toEqual([1, 0]);
      const count = aborted.records.length;
      expect(count).toBeLessThanOrEqual(20);
      await fixture.append('riders', 0, riders(3, 'more'));
      await sleep(100);
      expect(aborted.records).toHaveLength(count);
    });
  });
}
