import { hash } from 'node:crypto';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { writeManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { runArchiveCheck } from '../../../services/archive/archive-check.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { heard } from '../../support/processes/heard.ts';
import { writerIn } from '../../support/worlds/archive.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';
import { rejectAt, rider } from '../../support/worlds/records.ts';
import { SavedArchive } from '../../support/worlds/saved-archive.ts';

const settings = loadSettings({});
const check = (dir: string, json = false) => heard((io) => runArchiveCheck({ dir, json }, settings, io));

/** Exit code, and each problem's kind and file. */
async function problemsOf(dir: string) {
  const { code, out } = await check(dir, true);
  const { problems } = JSON.parse(out[0]!) as { problems: { kind: string; file: string }[] };
  return [code, problems.map(({ kind, file }) => `${kind} ${file.slice(dir.length + 1)}`)];
}
const first = 'ride-calendar.riders/0-00000000000000000000.avro';

// docs/rules.md#archive-check
describe('archive check', () => {
  test('finds nothing in an archive as it was saved', async () => {
    await using saved = await SavedArchive.make();
    const { exact_since } = await saved.save();
    const said = `As saved: 4 records in 16 files, and 0 rejected: ${saved.dir}. It has every record since ${exact_since}`;
    expect(await check(saved.dir)).toEqual({ code: 0, out: [said], err: [] });
    const how = { dir: saved.dir, json: true, requireManifest: true };
    const { code, out } = await heard((io) => runArchiveCheck(how, settings, io));
    const counts = { files: 16, records: 4, rejected: 0, problems: [], more: [] };
    expect([code, JSON.parse(out[0]!)]).toEqual([0, { dir: saved.dir, manifest: true, ...counts, exact_since }]);
  });

  test('compares the manifest with the records, however it is formatted; without its checksum it is refused', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
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

  test('reads an archive without a manifest, also one of another library', async () => {
    const { code, out } = await check(portlandDirectory);
    expect(code).toBe(3);
    expect(out[0]).toMatch(/^Read 18418 records in \d+ files, and 0 rejected: .*It has no manifest.json/);
    const how = { dir: portlandDirectory, requireManifest: true };
    const required = await heard((io) => runArchiveCheck(how, settings, io));
    const problem = `missing: ${portlandDirectory}/manifest.json: so what is missing or altered is not known`;
    expect([required.code, ...required.out]).toEqual([1, problem, expect.stringMatching(/^1 problem. Read 18418/)]);
  });

  test('names a file with a flipped byte, wherever it is', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    const file = `${saved.dir}/${first}`;
    const { length } = readFileSync(file);
    // The magic, the schema, the sync marker, a block's head, its records and the last byte.
    for (const at of [0, 10, length >> 2, length >> 1, length - 30, length - 17, length - 1]) {
      await saved.flip(file, at);
      expect(await problemsOf(saved.dir)).toEqual([1, [`altered ${first}`]]);
      await saved.flip(file, at);
    }
    expect(await problemsOf(saved.dir)).toEqual([0, []]);
  });

  test('names files that are missing, cut or foreign, each once', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    const riders = `${saved.dir}/ride-calendar.riders`;
    const bytes = readFileSync(`${saved.dir}/${first}`);
    rmSync(`${riders}/1-00000000000000000000.avro`);
    writeFileSync(`${saved.dir}/${first}`, bytes.subarray(0, -3));
    const foreign = ['copy.avro', '0-00000000000000000001.avro', '7-00000000000000000000.avro'];
    // Whatever is hidden or no Avro file does not count.
    for (const name of [...foreign, 'notes.txt', '.notes.crc']) writeFileSync(`${riders}/${name}`, bytes);
    expect(await problemsOf(saved.dir)).toEqual([
      1,
      [
        `foreign ride-calendar.riders/${foreign[0]}`,
        `cut ${first}`,
        `foreign ride-calendar.riders/${foreign[1]}`,
        'missing ride-calendar.riders/1-00000000000000000000.avro',
        `foreign ride-calendar.riders/${foreign[2]}`,
      ],
    ]);
    const { out } = await check(saved.dir);
    expect(out).toHaveLength(6);
    expect(out[1]).toBe(
      `cut: ${saved.dir}/${first}: it has ${bytes.length - 3} bytes, and the manifest says ${bytes.length}`,
    );
  });

  test('names a file that is cut or broken where there is no manifest', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    rmSync(`${saved.dir}/manifest.json`);
    const bytes = readFileSync(`${saved.dir}/${first}`);
    writeFileSync(`${saved.dir}/${first}`, bytes.subarray(0, -3));
    const { code, out } = await check(saved.dir);
    expect([code, out[0]]).toEqual([1, expect.stringMatching(`cut: .*${first} ends within a block`)]);
    writeFileSync(`${saved.dir}/${first}`, bytes);
    await saved.flip(`${saved.dir}/${first}`, bytes.length - 1);
    const spoilt = `altered: .*Cannot read .*${first} at byte \\d+: the sync marker after its block is wrong`;
    expect((await check(saved.dir)).out[0]).toMatch(new RegExp(spoilt));
  });

  test('says what a save that is at work, or was killed, wrote after the manifest, and that is no problem', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    const writer = await writerIn(saved.dir);
    writer.append('riders', { ...rider('e'), partition: 0, offset: 3 });
    await writer.close();
    appendFileSync(`${saved.dir}/${first}`, Buffer.from([2, 100, 1]));
    const more = `more: ${saved.dir}/${first}: it has more than the manifest says: a save is at work, or was killed; the next one cuts that off`;
    const { code, out } = await check(saved.dir);
    expect([code, ...out]).toEqual([0, more, expect.stringMatching(/^As saved: 5 records/)]);
  });

  test('checks bad records too', async () => {
    await using saved = await SavedArchive.make();
    await saved.save({}, [rejectAt(1)]);
    expect(await problemsOf(saved.dir)).toEqual([0, []]);
    saved.archive.reject([rejectAt(2)]);
    const { code, out } = await check(saved.dir, true);
    expect([code, JSON.parse(out[0]!)]).toMatchObject([0, { rejected: 2, more: [expect.stringMatching(/rejected/)] }]);
    const file = 'ride-calendar.rejected/0-00000000000000000000.avro';
    await saved.flip(`${saved.dir}/${file}`, 30);
    expect(await problemsOf(saved.dir)).toEqual([1, [`altered ${file}`]]);
    rmSync(`${saved.dir}/${file}`);
    expect(await problemsOf(saved.dir)).toEqual([1, [`missing ${file}`]]);
  });
});
