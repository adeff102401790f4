import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';

const folder = fileURLToPath(new URL('../../../infra/deploy/systemd/', import.meta.url));

describe.each(['projector', 'api'])('the unit of %s', (part) => {
  const unit = `${folder}ride-calendar-${part}.service`;
  beforeAll(() => needProgram('systemd-analyze', 'systemd', 'install systemd'), 300_000);

  it('has little to attack: below 2 of 10 by systemd’s own count', () => {
    // A threshold in tenths: exit code 1 where the exposure is above.
    const args = ['security', '--offline=true', '--no-pager', '--threshold=19', unit];
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    expect([status, stdout.match(/Overall exposure level.*/)?.[0] ?? stderr]).toEqual([
      0,
      expect.stringContaining('OK'),
    ]);
  });

  it('has no setting that systemd does not know', () => {
    // It wants the program that is started, and this machine's may be elsewhere.
    const args = ['verify', '--man=no', unit];
    const { stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    expect(stderr.split('\n').filter((line) => line.includes(part) && !/\/usr\/bin\/node/.test(line))).toEqual([]);
  });

  it('starts what there is, with options that Node knows', () => {
    const [, options, command] = /^ExecStart=\/usr\/bin\/node (.*) \/opt\/ride-calendar\/(\S+) /m.exec(
      readFileSync(unit, 'utf8'),
    )!;
    const bin = fileURLToPath(new URL(`../../../${command}`, import.meta.url));
    const help = execFileSync(process.execPath, [...options!.split(' '), bin, part, '--help'], { encoding: 'utf8' });
    expect(help).toContain(part);
  });

  it('keeps its credentials readable for root alone', () => {
    const text = readFileSync(unit, 'utf8');
    expect(text).toContain(`EnvironmentFile=/etc/ride-calendar/${part}.env`);
    expect(text).not.toMatch(/PASSWORD|SECRET=|redis:\/\//);
  });
});

test('the units have metrics and health on a port of their own each, so that both run on one machine', () => {
  const ports = ['projector', 'api'].map(
    (part) =>
      /^Environment=METRICS_PORT=(\d+)$/m.exec(readFileSync(`${folder}ride-calendar-${part}.service`, 'utf8'))?.[1],
  );
  expect(ports).toEqual([expect.stringMatching(/^\d+$/), expect.not.stringMatching(`^${ports[0]}$`)]);
});
