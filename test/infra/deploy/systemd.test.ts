import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { settingRules } from '../../../services/settings/settings-schema.ts';

const folder = fileURLToPath(new URL('../../../infra/deploy/systemd/', import.meta.url));

const textOf = (name: string): string => readFileSync(folder + name, 'utf8');

beforeAll(() => needProgram('systemd-analyze', 'systemd', 'install systemd'), 300_000);

it.each(['projector', 'api', 'backup'])(
  'the unit of %s has little to attack, below 2 of 10 by systemd’s own count, and no setting that systemd does not know',
  (part) => {
    const unit = `${folder}ride-calendar-${part}@.service`;
    const analyzed = (...args: string[]) => spawnSync('systemd-analyze', [...args, unit], { encoding: 'utf8' });
    // A threshold in tenths: exit code 1 where the exposure is above.
    const { status, stdout } = analyzed('security', '--offline=true', '--no-pager', '--threshold=19');
    expect([status, stdout]).toEqual([0, expect.stringMatching(/Overall exposure level.*OK/)]);
    // It wants the program that is started, and this machine's may be elsewhere.
    const { stderr } = analyzed('verify', '--man=no');
    expect(stderr.split('\n').filter((line) => line.includes(part) && !/is not executable/.test(line))).toEqual([]);
    const text = textOf(`ride-calendar-${part}@.service`);
    for (const line of ['DynamicUser=yes', 'StateDirectoryMode=0700', 'UMask=0077'])
      expect(text).toContain(`\n${line}\n`);
    expect(text).toMatch(new RegExp(`^Environment=.* DATA_DIR=/var/lib/ride-calendar/${part} `, 'm'));
    const named = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line]) => line!.match(/[A-Z_]+(?==)/g)!);
    const ours = named.filter((name) => !/^(NODE_\w+|TEXTFILE_DIR|RIDE_CALENDAR)$/.test(name));
    expect(ours.filter((name) => !(name in settingRules))).toEqual([]);
  },
);

describe.each(['projector', 'api'])('the unit of %s', (part) => {
  const text = textOf(`ride-calendar-${part}@.service`);

  it('starts what there is, with options that Node knows', () => {
    const [, options, command] = /^ExecStart=\/usr\/bin\/node (.*) \/opt\/ride-calendar\/%i\/(\S+) /m.exec(text)!;
    const bin = fileURLToPath(new URL(`../../../${command}`, import.meta.url));
    const help = execFileSync(process.execPath, [...options!.split(' '), bin, part, '--help'], { encoding: 'utf8' });
    expect(help).toContain(part);
  });

  it('is started again whatever ended it, within its memory, by a user of its own, and shows no credential', () => {
    const lines = [
      'Restart=always',
      'RestartSec=5',
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
  const text = textOf('oauth.conf');
  const loaded = [...text.matchAll(/^LoadCredential=([a-z-]+):\/etc\/ride-calendar\//gm)].map(([, name]) => name);
  const used = [...text.matchAll(/([A-Z_]+)=%d\/([a-z-]+)/g)];
  expect(used.map(([, , name]) => name)).toEqual(loaded);
  expect(used.filter(([, name]) => !(name! in settingRules))).toEqual([]);
});

test('the examples have settings that there are, and name the proxy', () => {
  const settings = (part: string) =>
    Object.fromEntries(
      textOf(`example/${part}.env`)
        .matchAll(/^([A-Z_]+)=(.*)$/gm)
        .map(([, ...pair]) => pair),
    );
  for (const part of ['api', 'projector', 'backup-archive'])
    expect(Object.keys(settings(part)).filter((name) => !(name in settingRules))).toEqual([]);
  expect(settings('api')).toMatchObject({ TRUST_PROXY: '127.0.0.1', BASE_URL: expect.stringMatching('^https:') });
});

test('the example of haproxy asks each API at the ports of its unit, and Prometheus reads them; the timer backs up each night', () => {
  expect(textOf('ride-calendar-api@.service')).toContain('PORT=808%i METRICS_PORT=946%i\n');
  expect(textOf('ride-calendar-projector@.service')).toContain('METRICS_PORT=947%i\n');
  const asked = [...textOf('example/haproxy.cfg').matchAll(/^ {2}server (api|slow)(\d) 127.0.0.1:808\2 port 946\2$/gm)];
  const servers = ['api', 'slow'].flatMap((kind) => [1, 2, 3, 4].map((i) => kind + i));
  expect(asked.map(([, kind, i]) => kind! + i)).toEqual(servers);
  const scraped = textOf('example/prometheus.yaml').matchAll(/127\.0\.0\.1:(9[46]\d\d)/g);
  expect([...scraped].map(([, port]) => port)).toEqual(['9461', '9462', '9471', '9472']);
  expect(textOf('ride-calendar-backup@.timer')).toMatch(/^OnCalendar=\*-\*-\* \d\d:\d\d\n[\s\S]*^Persistent=yes$/m);
});
