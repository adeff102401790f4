import { describe, expect, it } from 'vitest';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

const list = (...args: string[]) =>
  heard((io) => runCli(['rejected', 'list', ...args], io, { ARCHIVE_DIR: portlandDirectory }));

describe('rejected list', () => {
  it('says reasons, counts and places, of some where they are named', async () => {
    const { code, out } = await list();
    expect(code).toBe(1);
    expect(out).toContain('     1  time zone is not in the IANA database');
    expect(out).toContain(
      '        unresolved  metros/0@2  2015-06-02T03:00:00.000Z  field time_zone: want a Zone or Link name exactly as spelled there',
    );
    expect(out.at(-1)).toMatch(/^4 rejected records in the archive /);
    expect((await list('--place', 'metros/0@1', 'nights/0@76')).out.at(-1)).toMatch(/^2 rejected records/);
  });

  it('--show tells what can be read, and nothing of riders until it is told to', async () => {
    const only = ['--show', '--json', '--reason', 'rider related to themself'];
    const shown = JSON.parse((await list(...only)).out[0]!);
    expect(shown).toMatchObject({
      reason_now: 'rider related to themself: field other: want another rider than in field rider',
      key: '(hidden)',
      value: { rider: '(hidden)', other: '(hidden)', follows: true },
    });
    const personal = JSON.parse((await list(...only, '--personal')).out[0]!);
    expect(personal.value.rider).toMatch(/^r\d+$/);
    expect(personal.key).toBe(`${personal.value.rider}/${personal.value.rider}`);
  });
});
