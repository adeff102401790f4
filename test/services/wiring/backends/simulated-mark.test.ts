import { appendFile, cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { markSimulated, simulatedMark } from '../../../../services/wiring/backends/simulated-mark.ts';
import { portlandDirectory } from '../../../support/portland.ts';

const made = { developerKey: 'rck_x', rider: 'r1' };
let dir: string;
const ridersFolder = () => join(dir, 'ride-calendar.riders');

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-mark-'));
  await cp(portlandDirectory, dir, { recursive: true });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('the mark of an archive that simulate made', () => {
  it('is read back, also from a copy', async () => {
    await markSimulated(dir, made);
    expect(await simulatedMark(dir)).toEqual(made);
    const copy = `${dir}-copy`;
    await cp(dir, copy, { recursive: true });
    expect(await simulatedMark(copy)).toEqual(made);
    await rm(copy, { recursive: true });
  });

  it('is on no archive that simulate did not make', async () => {
    expect(await simulatedMark(portlandDirectory)).toBeNull();
  });

  it.each([
    ['a record more', async () => appendFile(join(ridersFolder(), (await readdir(ridersFolder()))[0]!), 'more')],
    ['a file more', async () => writeFile(join(ridersFolder(), '1-00000000000000000000.avro'), '')],
    ['other files', async () => rm(ridersFolder(), { recursive: true }).then(() => writeFile(ridersFolder(), ''))],
    ['none', async () => rm(ridersFolder(), { recursive: true })],
  ])('no longer counts where its riders have %s', async (_, change) => {
    await markSimulated(dir, made);
    await change();
    expect(await simulatedMark(dir)).toBeNull();
  });

  it('does not count for riders of another KAFKA_TOPIC_PREFIX in the same folder', async () => {
    await markSimulated(dir, made);
    await cp(ridersFolder(), join(dir, 'other.riders'), { recursive: true });
    await writeFile(join(dir, 'other.riders', '1-00000000000000000000.avro'), '');
    expect(await simulatedMark(dir, 'other.')).toBeNull();
    expect(await simulatedMark(dir)).toEqual(made);
  });

  it.each(['', 'null', '{}', '{"riders":null}', '[1]'])('does not count where it reads %j', async (text) => {
    await rm(ridersFolder(), { recursive: true });
    await writeFile(join(dir, 'simulated.json'), text);
    expect(await simulatedMark(dir)).toBeNull();
  });
});
