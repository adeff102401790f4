import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runArchiveLoad, runArchiveSave } from '../../services/archive.ts';
import { type Io, UsageError } from '../../services/io.ts';
import { loadSettings, type Settings } from '../../services/settings.ts';
import { defaultSizes } from '../../services/simulate/sizes.ts';
import { runSimulate } from '../../services/simulate.ts';
import { runTopics } from '../../services/topics.ts';
import { freshTopicPrefix, kafkaBrokers } from '../support/backends.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-commands-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

function freshSettings(): Settings {
  return loadSettings({ KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix(), LOG_LEVEL: 'error' });
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
    const [code, { records, changes }] = await run(runSimulate, small, from);
    expect([code, changes]).toEqual([0, 100]);

    const saved = join(dir, 'saved');
    expect(await run(runArchiveSave, { dir: saved }, from)).toEqual([0, { dir: saved, records, rejected: 0 }]);
    expect(await run(runArchiveLoad, { dir: saved }, to)).toEqual([0, { dir: saved, records, rejected: 0 }]);
    const again = join(dir, 'again');
    expect((await run(runArchiveSave, { dir: again }, to))[1]).toMatchObject({ records });
    const files = async (folder: string): Promise<string[]> => (await readdir(folder, { recursive: true })).sort();
    expect(await files(again)).toEqual(await files(saved));

    // A second time would publish every record twice.
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
