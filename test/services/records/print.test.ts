import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { archiveEventLog } from '../../../infra/archive/log/archive-event-log.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { followToEnds } from '../../../projector/intake/follow-to-ends.ts';
import { Validator } from '../../../projector/intake/validator.ts';
import { positionOf } from '../../../projector/position/position.ts';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';
import { good } from '../../support/worlds/record-arbs.ts';

const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-print-'));
const run = (args: string[], lines: readonly string[] = []) =>
  heard(
    (io) => runCli(['records', ...args], io, { LOG_LEVEL: 'silent', DATA_DIR: folder }),
    undefined,
    () => Readable.from([Buffer.from(lines.join('\n'))]),
  );
let archives = 0;
const fresh = () => join(folder, `archive-${archives++}`);

/** The sum of an archive's facts. */
async function factsOf(dir: string): Promise<string> {
  const log = archiveEventLog({ dir });
  const [fold, validator, bounds] = [new Fold(), new Validator(), await log.bounds()];
  await followToEnds(log, positionOf(bounds, 'low'), bounds, new AbortController().signal, ({ records }) => {
    for (const record of records) {
      if (validator.validate(record) === null) fold.apply(validator.good);
    }
  });
  return fold.facts.sum.text;
}

// docs/rules.md#json-lines
describe('records print', () => {
  it('prints what records publish makes the same facts of, whatever good records hold', async () => {
    const odd = fc.record({
      text: fc.string({ unit: 'binary', maxLength: 30 }).filter((one) => one.isWellFormed()),
      revision: fc.oneof(fc.maxSafeInteger(), fc.bigInt(2n ** 53n, 2n ** 63n - 1n)),
      changed_at: fc.oneof(
        fc.constantFrom(-62_135_596_800_000, 253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_001),
        fc.bigInt(2n ** 54n, 2n ** 63n - 1n),
      ),
    });
    const world = fc.record({
      odd,
      ride: good.ride('ride1'),
      night: good.night('ride1', 20_000),
      rider: good.rider('r1'),
      key: good.developerKey('k1'),
      rsvp: good.attendance('ride1', 20_000, 'r1'),
    });
    await fc.assert(
      fc.asyncProperty(world, async ({ odd: { text, ...stamps }, ride, night, rider, key, rsvp }) => {
        await using archive = await TestArchive.make();
        await archive.createTopics(1);
        const put = (topic: string, key: string, value: object | null) =>
          archive.append(topic as never, 0, [{ timestampMs: 1_700_000_000_000, key, value } as never]);
        await put('rides', 'ride1', { ...ride, title: text, ...stamps });
        await put('nights', 'ride1/2024-10-04', { ...night, cancellation_reason: text, ...stamps });
        await put('riders', 'r1', { ...rider, name: null, handle: text, ...stamps });
        await put('riders', 'gone', null);
        await put('developer-keys', 'k1', { ...key, label: text, ...stamps });
        await put('attendance', 'ride1/2024-10-04/r1', { ...rsvp, ...stamps });
        const printed = await run(['print', '--archive', archive.dir]);
        expect(printed).toMatchObject({ code: 0, err: [], out: { length: 6 } });
        const dir = fresh();
        expect(await run(['publish', '--archive', dir], printed.out)).toMatchObject({ code: 0, err: [] });
        expect(await factsOf(dir)).toBe(await factsOf(archive.dir));
      }),
      { numRuns: 15 },
    );
  });

  it('prints an archive’s bad records to standard error, each with its place and reason', async () => {
    const { code, out, err } = await run(['print', '--archive', portlandDirectory]);
    expect(code).toBe(0);
    expect(out.length).toBeGreaterThan(100);
    const bad = err.map((line) => JSON.parse(line));
    expect(bad).toHaveLength(4);
    const reason = expect.stringMatching(/^time zone is not in the IANA database: field time_zone/);
    expect(bad).toContainEqual({ topic: 'metros', partition: 0, offset: 2, reason });
  });

  it('prints a topic’s, a key’s, or those from an instant on', async () => {
    const printed = async (...args: string[]) => (await run(['print', '--archive', portlandDirectory, ...args])).out;
    const some = await printed('--topic', 'rides', 'metros');
    expect(new Set(some.map((line) => JSON.parse(line).topic))).toEqual(new Set(['rides', 'metros']));
    const all = await printed('--topic', 'metros');
    const { key } = JSON.parse(all[0]!);
    expect(await printed('--topic', 'metros', '--key', key)).toEqual(
      all.filter((line) => JSON.parse(line).key === key),
    );
    expect(await printed('--from', '2999-01-01T00:00:00Z')).toEqual([]);
    expect(await printed('--topic', 'metros', '--from', '1999-01-01T00:00:00Z')).toEqual(all);
  });
});
