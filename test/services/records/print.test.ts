import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-print-'));
const run = (args: string[], lines: readonly string[] = []) =>
  heard(
    (io) => runCli(['records', ...args], io, { LOG_LEVEL: 'silent', DATA_DIR: folder }),
    undefined,
    () => Readable.from([Buffer.from(lines.join('\n'))]),
  );
const example = new URL('../../../docs/example-records.jsonl', import.meta.url);
const gone = '{"topic":"riders","key":"gone","value":null}';
const examples = [...readFileSync(example, 'utf8').trim().split('\n'), gone];

// docs/rules.md#json-lines
describe('records print', () => {
  it('prints what records publish makes the same records of', async () => {
    const dir = join(folder, 'published');
    expect(await run(['publish', '--archive', dir], examples)).toMatchObject({ code: 0, err: [] });
    const { code, out, err } = await run(['print', '--archive', dir]);
    expect({ code, out: out.sort(), err }).toEqual({ code: 0, out: examples.toSorted(), err: [] });
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
    const two = ['--topic', 'rides', 'metros'];
    const some = await printed(...two);
    expect(new Set(some.map((line) => JSON.parse(line).topic))).toEqual(new Set(['rides', 'metros']));
    const { key } = JSON.parse(some[0]!);
    const ofKey = some.filter((line) => JSON.parse(line).key === key);
    expect(ofKey.length).toBeLessThan(some.length);
    expect(await printed(...two, '--key', key)).toEqual(ofKey);
    expect(await printed('--from', '2999-01-01T00:00:00Z')).toEqual([]);
    expect(await printed(...two, '--from', '1999-01-01T00:00:00Z')).toEqual(some);
  });
});
