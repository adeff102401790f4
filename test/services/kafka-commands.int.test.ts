import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import avro from 'avsc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { topicNames } from '../../schemas/events/records.ts';
import { runArchiveLoad } from '../../services/archive-load.ts';
import { runArchiveSave } from '../../services/archive-save.ts';
import { loadSettings, type Settings } from '../../services/settings/settings.ts';
import { simulation, steppingClock } from '../../services/simulate/simulation.ts';
import { defaultSizes } from '../../services/simulate/sizes.ts';
import type { SimulatedRecord } from '../../services/simulate/world.ts';
import { runSimulate } from '../../services/simulate.ts';
import { runTopics } from '../../services/topics.ts';
import { type Io, UsageError } from '../../services/wiring/command/io.ts';
import { freshTopicPrefix, kafkaBrokers } from '../support/backends.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-commands-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

function freshSettings(): Settings {
  return loadSettings({
    KAFKA_BROKERS: kafkaBrokers(),
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    LOG_LEVEL: 'error',
    NOW: '2026-11-21T12:00:00Z',
  });
}

/** Runs a command with --json; its exit code and its line. */
async function run<O extends object>(
  command: (options: O, settings: Settings, io: Io) => Promise<number>,
  options: O,
  settings: Settings,
  signal = new AbortController().signal,
): Promise<[number, Record<string, unknown>]> {
  const lines: string[] = [];
  const io: Io = { out: (line) => lines.push(line), err: () => {}, watched: false, signal };
  const code = await command({ ...options, json: true }, settings, io);
  expect(lines).toHaveLength(1);
  return [code, JSON.parse(lines[0]!) as Record<string, unknown>];
}

const small = { ...defaultSizes, rides: 12, riders: 40, rate: 0, count: 100 };

/** What `simulate` publishes with these options, by topic and key: revision, null for a tombstone. */
function lastOfEachKey(): Map<string, number | bigint | null> {
  const today = Date.UTC(2026, 10, 21) / 86_400_000;
  const made = simulation({ ...small, today });
  const last = new Map<string, number | bigint | null>();
  const note = ({ topic, key, value }: SimulatedRecord): unknown =>
    last.set(`${topic} ${key}`, value?.revision ?? null);
  for (const record of made.initial()) note(record);
  const changes = made.changes(steppingClock(today, 3_600_000 / small.count))[Symbol.iterator]();
  for (let i = 0; i < small.count; i++) note(changes.next().value!);
  return last;
}

/** Folders have the prefix of the topics that they were saved from. */
async function lastOfEachKeyIn(folder: string, prefix: string): Promise<Map<string, number | null>> {
  const last = new Map<string, number | null>();
  for (const topic of topicNames) {
    const files = join(folder, `${prefix}${topic}`);
    // A key stays in one partition, and a partition's files sort by their first offset.
    for (const name of (await readdir(files)).sort()) {
      for await (const record of avro.createFileDecoder(join(files, name))) {
        const { key, value } = record as { key: string; value: { revision: number } | null };
        last.set(`${topic} ${key}`, value?.revision ?? null);
      }
    }
  }
  return last;
}

describe('commands on Kafka', () => {
  it('topics creates nine topics, and then finds them as planned', async () => {
    const settings = freshSettings();
    const states = ([code, { topics }]: [number, Record<string, unknown>]): unknown[] => [
      code,
      [...new Set((topics as { state: string }[]).map(({ state }) => state))],
      (topics as unknown[]).length,
    ];
    expect(states(await run(runTopics, { check: true }, settings))).toEqual([1, ['missing'], 9]);
    expect(states(await run(runTopics, { partitions: 2 }, settings))).toEqual([0, ['created'], 9]);
    expect(states(await run(runTopics, { partitions: 2 }, settings))).toEqual([0, ['as planned'], 9]);
  });

  it('simulate without the topics says how to make them', async () => {
    const failure = run(runSimulate, small, freshSettings());
    await expect(failure).rejects.toThrow(UsageError);
    await expect(failure).rejects.toThrow('run "ride-calendar topics"');
  });

  it('what simulate publishes can be saved, and loaded into other topics', async () => {
    const [from, to] = [freshSettings(), freshSettings()];
    for (const settings of [from, to]) await run(runTopics, { partitions: 2 }, settings);
    const [code, { changes }] = await run(runSimulate, small, from);
    expect([code, changes]).toEqual([0, 100]);

    // Not the number of records: theirs are old timestamps, so Kafka may compact superseded ones away at once.
    const published = lastOfEachKey();
    const [saved, again] = [join(dir, 'saved'), join(dir, 'again')];
    expect(await run(runArchiveSave, { dir: saved }, from)).toEqual([
      0,
      { dir: saved, records: expect.any(Number), rejected: 0, exact_since: expect.any(String) },
    ]);
    expect(await lastOfEachKeyIn(saved, from.topicPrefix)).toEqual(published);
    expect((await run(runArchiveLoad, { dir: saved }, to))[0]).toBe(0);
    await run(runArchiveSave, { dir: again }, to);
    expect(await lastOfEachKeyIn(again, to.topicPrefix)).toEqual(published);

    // The topics are not empty any more.
    await expect(run(runArchiveLoad, { dir: saved }, to)).rejects.toThrow(UsageError);
  });

  it('an endless simulation keeps its pace and ends on a signal', async () => {
    const settings = freshSettings();
    await run(runTopics, { partitions: 1 }, settings);
    const stop = new AbortController();
    const startMs = performance.now();
    setTimeout(() => stop.abort(), 2_500);
    const { count: _, ...endless } = small;
    const [code, { changes }] = await run(runSimulate, { ...endless, rate: 20 }, settings, stop.signal);
    expect(code).toBe(0);
    // At least one, however slow the machine, and no more than the rate allows.
    expect(changes).toBeGreaterThan(0);
    expect(changes).toBeLessThanOrEqual(((performance.now() - startMs) / 1_000) * 20 + 1);
  });
});
