import { hash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { writeManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { runArchiveCheck } from '../../../services/archive/archive-check.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { heard } from '../../support/processes/heard.ts';
import { checkArchive } from '../../support/worlds/archive.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';
import { rejectAt } from '../../support/worlds/records.ts';
import { SavedArchive } from '../../support/worlds/saved-archive.ts';

const settings = loadSettings({});
const check = (dir: string, how: { json?: boolean; requireManifest?: boolean } = {}) =>
  heard((io) => runArchiveCheck({ dir, ...how }, settings, io));

/** Exit code, and each problem's kind and file. */
async function problemsOf(dir: string) {
  const { code, problems } = await checkArchive(dir);
  return [code, problems.map((one: Record<string, string>) => `${one.kind} ${one.file!.slice(dir.length + 1)}`)];
}
const first = 'ride-calendar.riders/0-00000000000000000000.avro';

// docs/rules.md#archive-check

test('archive check finds nothing in an archive as it was saved', async () => {
  await using saved = await SavedArchive.make();
  const { exact_since } = await saved.save();
  const said = `As saved: 4 records in 16 files, and 0 rejected: ${saved.dir}. It has every record since ${exact_since}`;
  expect(await check(saved.dir)).toEqual({ code: 0, out: [said], err: [] });
  const { code, out } = await check(saved.dir, { json: true, requireManifest: true });
  const counts = { files: 16, records: 4, rejected: 0, problems: [], more: [] };
  expect([code, JSON.parse(out[0]!)]).toEqual([0, { dir: saved.dir, manifest: true, ...counts, exact_since }]);
});

test('archive check compares the manifest with the records, however it is formatted; without its checksum it is refused', async () => {
  await using saved = await SavedArchive.saved();
  const path = `${saved.dir}/manifest.json`;
  const { checksum, ...content } = JSON.parse(readFileSync(path, 'utf8'));
  expect(checksum).toBe(hash('sha256', JSON.stringify(content)));
  expect(readFileSync(path, 'utf8')).toMatch(/"checksum": "[0-9a-f]{64}"\s*\}\s*$/);
  writeFileSync(path, JSON.stringify({ ...content, checksum }));
  expect(await problemsOf(saved.dir)).toEqual([0, []]);
  content.topics.riders.partitions[0].first_timestamp++;
  writeManifest(saved.dir, content);
  expect(await problemsOf(saved.dir)).toEqual([1, ['altered manifest.json']]);
  for (const text of [JSON.stringify(content), 'x', '{"version":9}']) {
    writeFileSync(path, text);
    await expect(check(saved.dir)).rejects.toThrow(`Cannot read ${path}: it`);
  }
});

test('archive check reads an archive without a manifest, also one of another library', async () => {
  const { code, out } = await check(portlandDirectory);
  expect(code).toBe(3);
  expect(out[0]).toMatch(/^Read 18418 records in \d+ files, and 0 rejected: .*It has no manifest.json/);
});

test('archive check names files that are missing, cut, foreign or altered at any byte, each once', async () => {
  await using saved = await SavedArchive.saved();
  const riders = `${saved.dir}/ride-calendar.riders`;
  const bytes = readFileSync(`${saved.dir}/${first}`);
  rmSync(`${riders}/1-00000000000000000000.avro`);
  writeFileSync(`${saved.dir}/${first}`, bytes.subarray(0, -3));
  const foreign = ['copy.avro', '0-00000000000000000001.avro', '7-00000000000000000000.avro'];
  for (const name of foreign) writeFileSync(`${riders}/${name}`, bytes);
  const [copy, later, other] = foreign.map((name) => `foreign ride-calendar.riders/${name}`);
  const missing = 'missing ride-calendar.riders/1-00000000000000000000.avro';
  expect(await problemsOf(saved.dir)).toEqual([1, [copy, `cut ${first}`, later, missing, other]]);
  const cut = `cut: ${saved.dir}/${first}: it has ${bytes.length - 3} bytes, and the manifest says ${bytes.length}`;
  expect((await check(saved.dir)).out[1]).toBe(cut);
  await saved.archive.removeFiles('riders');
  // The magic, the schema, a block's records and the last byte.
  for (const at of [0, bytes.length >> 2, bytes.length - 30, bytes.length - 1]) {
    writeFileSync(`${saved.dir}/${first}`, bytes);
    await saved.flip(`${saved.dir}/${first}`, at);
    expect((await problemsOf(saved.dir))[1]).toContain(`altered ${first}`);
  }
});

test('archive check names a file that is cut or broken where there is no manifest, and with --require-manifest that there is none', async () => {
  await using saved = await SavedArchive.saved();
  rmSync(`${saved.dir}/manifest.json`);
  const said = async (requireManifest = false) => {
    const { code, out } = await check(saved.dir, { requireManifest });
    return [code, out[0]];
  };
  const missing = `missing: ${saved.dir}/manifest.json: so what is missing or altered is not known`;
  expect(await said(true)).toEqual([1, missing]);
  const bytes = readFileSync(`${saved.dir}/${first}`);
  writeFileSync(`${saved.dir}/${first}`, bytes.subarray(0, -3));
  expect(await said()).toEqual([1, expect.stringMatching(`^cut: .*${first}`)]);
  writeFileSync(`${saved.dir}/${first}`, bytes);
  await saved.flip(`${saved.dir}/${first}`, bytes.length - 1);
  expect(await said()).toEqual([1, expect.stringMatching(`^altered: .*${first}`)]);
});

test('archive check checks bad records too; what a save that is at work, or was killed, wrote after the manifest is no problem', async () => {
  await using saved = await SavedArchive.saved([rejectAt(1)]);
  expect(await problemsOf(saved.dir)).toEqual([0, []]);
  saved.archive.reject([rejectAt(2)]);
  const more = [expect.stringMatching(/rejected/)];
  expect(await checkArchive(saved.dir)).toMatchObject({ code: 0, rejected: 2, more });
  const file = 'ride-calendar.rejected/0-00000000000000000000.avro';
  await saved.flip(`${saved.dir}/${file}`, 30);
  expect(await problemsOf(saved.dir)).toEqual([1, [`altered ${file}`]]);
  rmSync(`${saved.dir}/${file}`);
  expect(await problemsOf(saved.dir)).toEqual([1, [`missing ${file}`]]);
});
