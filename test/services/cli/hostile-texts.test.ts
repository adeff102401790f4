import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { emptyManifest, manifestText } from '../../../infra/archive/format/archive-manifest.ts';
import { ran } from '../../support/processes/ran.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

// docs/rules.md#text-of-others: what publishers, riders and makers of archives choose must not move an operator's cursor, name their window or forge a line.

/** Names the window, and begins a line of its own. */
const forged = 'x\u001b]0;owned\u0007\u009b31m\n2026-05-01T00:00:00.000Z  nights/0@7 forged';
const { ride, metro } = sampleRecords.rides;
const day = '2026-05-01';

const archive = await TestArchive.make(1);
afterAll(() => archive.close());
const night = { ...sampleRecords.nights, ride, day: Date.parse(day) / 86_400_000 };
await archive.write([
  { topic: 'metros', key: metro, value: { ...sampleRecords.metros, metro } },
  { topic: 'rides', key: ride, value: { ...sampleRecords.rides, title: forged } },
  { topic: 'nights', key: `${ride}/${day}`, value: { ...night, status: 'CANCELLED' }, timestampMs: 1.76e12 },
  { topic: 'nights', key: forged, value: night },
  { topic: 'riders', key: 'handled', value: { ...sampleRecords.riders, rider: 'handled', handle: forged } },
]);
const raw = { key: Buffer.from('k'), value: null, headers: {} };
archive.reject([{ topic: `../${forged}`, partition: 0, offset: 4, timestampMs: 1, reason: forged, raw }]);

const commands = () => {
  const span = ['--from', '2020-01-01T00:00:00Z', '--to', '2026-09-01T00:00:00Z'];
  return [
    ['history', `/rides/${ride}`, `/metros/${metro}/days/${day}`],
    ['history', `/metros/${metro}/days/${day}`],
    ['changes', ...span],
    ['changes', '--json', ...span],
    ['replay', '--as-of', '2026-09-01T00:00:00Z', '--get', `/rides/${ride}`],
    ...[[], ['--show', '--personal'], ['--json']].map((more) => ['rejected', 'list', ...more]),
  ].map((args) => [...args, '--archive', archive.dir]);
};

const expectShown = (lines: readonly string[]) => {
  for (const line of lines) {
    // The stream's own breaks of lines stay.
    for (const one of line.split('\n')) expect(one).not.toMatch(/\p{Cc}/u);
    expect(line).not.toMatch(/^\s*2026-05-01T00:00:00.000Z {2}nights\/0@7 forged/m);
  }
};

test('no command prints what a terminal would obey, and none prints a line that a text forged', async () => {
  for (const args of commands()) {
    const { out, err } = await ran(args, { LOG_LEVEL: 'silent' });
    expectShown([...out, ...err]);
    expect([args, [...out, ...err].join()]).toEqual([args, expect.stringContaining('\\u001b]0;owned')]);
    if (args.includes('--json')) for (const line of out) JSON.parse(line);
  }
});

test('a file’s name, a lock’s words and a prefix are shown, and not obeyed', async () => {
  await using other = await TestArchive.make(1);
  const name = `${forged.replaceAll('/', '.')}.avro`;
  writeFileSync(join(other.folder('riders'), name), '');
  const check = () => ran(['archive', 'check', other.dir]);
  const { out } = await check();
  expectShown(out);
  expect(out.join()).toContain('\\u001b]0;owned');
  renameSync(join(other.folder('riders'), name), join(other.folder('riders'), 'gone'));
  const lock = { pid: forged, host: forged, command: forged, since: forged };
  writeFileSync(join(other.dir, '.lock'), JSON.stringify(lock));
  const { code, err } = await ran(['archive', 'forget', 'ada', other.dir]);
  expectShown(err);
  expect([code, err.join()]).toEqual([1, expect.stringContaining('(process "x\\u001b]0;owned')]);
  writeFileSync(join(other.dir, 'manifest.json'), manifestText(emptyManifest(forged)));
  const refused = await check();
  expectShown([...refused.out, ...refused.err]);
  expect(refused.code).toBeGreaterThan(0);
});
