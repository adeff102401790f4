import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { settingRules } from '../../../services/settings/settings-schema.ts';

const folder = fileURLToPath(new URL('../../../infra/deploy/systemd/', import.meta.url));

describe.each(['projector', 'api'])('the unit of %s', (part) => {
  const unit = `${folder}ride-calendar-${part}@.service`;
  const text = readFileSync(unit, 'utf8');
  beforeAll(() => needProgram('systemd-analyze', 'systemd', 'install systemd'), 300_000);

  it('has little to attack, below 2 of 10 by systemd’s own count, and no setting that systemd does not know', () => {
    const analyzed = (...args: string[]) => spawnSync('systemd-analyze', [...args, unit], { encoding: 'utf8' });
    // A threshold in tenths: exit code 1 where the exposure is above.
    const { status, stdout } = analyzed('security', '--offline=true', '--no-pager', '--threshold=19');
    expect([status, stdout]).toEqual([0, expect.stringMatching(/Overall exposure level.*OK/)]);
    // It wants the program that is started, and this machine's may be elsewhere.
    const { stderr } = analyzed('verify', '--man=no');
    expect(stderr.split('\n').filter((line) => line.includes(part) && !/\/usr\/bin\/node/.test(line))).toEqual([]);
  });

  it('starts what there is, with options that Node knows', () => {
    const [, options, command] = /^ExecStart=\/usr\/bin\/node (.*) \/opt\/ride-calendar\/%i\/(\S+) /m.exec(text)!;
    const bin = fileURLToPath(new URL(`../../../${command}`, import.meta.url));
    const help = execFileSync(process.execPath, [...options!.split(' '), bin, part, '--help'], { encoding: 'utf8' });
    expect(help).toContain(part);
  });

  it('is started again whatever ended it, within its memory, by a user of its own, and shows no credential', () => {
    const lines = [
      'Restart=always',
      'StartLimitIntervalSec=0',
      'MemoryMax=\\d+G',
      `DynamicUser=yes\nUser=ride-calendar-${part}\nStateDirectory=ride-calendar/${part}`,
      `EnvironmentFile=/etc/ride-calendar/${part}.env`,
    ];
    for (const line of lines) expect(text).toMatch(new RegExp(`^${line}$`, 'm'));
    expect(text).toContain(' --max-old-space-size-percentage=75 ');
    expect(text).not.toMatch(/PASSWORD|SECRET=|redis:\/\/|RestartPreventExitStatus/);
  });
});

test('the drop-in of sign-in’s files has systemd read them, for settings that exist', () => {
  const text = readFileSync(`${folder}oauth.conf`, 'utf8');
  const loaded = [...text.matchAll(/^LoadCredential=([a-z-]+):\/etc\/ride-calendar\//gm)].map(([, name]) => name);
  const used = [...text.matchAll(/([A-Z_]+)=%d\/([a-z-]+)/g)];
  expect(used.map(([, , name]) => name)).toEqual(loaded);
  expect(used.filter(([, name]) => !(name! in settingRules))).toEqual([]);
});
