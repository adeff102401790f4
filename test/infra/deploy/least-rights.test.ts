import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { topicNames } from '../../../schemas/events/records.ts';
import { grantedLines, kafkaAclsFile } from '../../support/servers/kafka-acls.ts';
import { redisUsersFile } from '../../support/servers/redis-users.ts';

const document = readFileSync(new URL('../../../docs/permissions.md', import.meta.url), 'utf8');

describe('docs/permissions.md', () => {
  it('has each of Redis’s users, and no other', () => {
    const users = [...readFileSync(redisUsersFile, 'utf8').matchAll(/^user (?!default )(\S+)/gm)].map(
      ([, user]) => user,
    );
    const rows = document.slice(0, document.indexOf('## Kafka')).matchAll(/^\* `.+?: (.+)$/gm);
    const named = [...rows].flatMap(([, cell]) => [...cell!.matchAll(/`([a-z-]+)`/g)].map(([, user]) => user));
    expect(new Set(named)).toEqual(new Set(users));
  });

  it('names each of the users whose rights the script grants', () => {
    const kafka = document.slice(document.indexOf('## Kafka'));
    expect(grantedLines().filter(({ user }) => !kafka.includes(`\`${user}\``))).toEqual([]);
  });
});

describe('infra/deploy/kafka-acls.sh', () => {
  /** What it calls Kafka's tool with. */
  function calls(...args: string[]): string[] {
    const folder = mkdtempSync(join(tmpdir(), 'ride-calendar-acls-'));
    try {
      const tool = join(folder, 'kafka-acls.sh');
      writeFileSync(tool, '#!/bin/sh\necho "$*"\n');
      chmodSync(tool, 0o755);
      const PATH = `${folder}:${process.env.PATH}`;
      return execFileSync(fileURLToPath(kafkaAclsFile), args, { env: { PATH }, encoding: 'utf8', stdio: 'pipe' })
        .trim()
        .split('\n');
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it('calls Kafka’s tool once for each line, with the topics, the group and the operations', () => {
    const made = calls('--bootstrap-server', 'kafka:9092', '--command-config', 'admin.properties');
    expect(made).toHaveLength(grantedLines().length);
    const facts = topicNames.map((name) => `--topic ride-calendar.${name}`);
    expect(made[0]).toBe(
      `--bootstrap-server kafka:9092 --command-config admin.properties --add --allow-principal User:projector ${facts.join(' ')} --operation Read --operation DescribeConfigs`,
    );
    expect(made).toContain(
      '--bootstrap-server kafka:9092 --command-config admin.properties --add --allow-principal User:projector --group ride-calendar --operation Read',
    );
  });

  it('takes another prefix and group, other names of users, and a broker without credentials', () => {
    const names = [
      '--topic-prefix',
      'mine.',
      '--group',
      'ours',
      '--user',
      'topics=my-topics',
      '--user',
      'projector=p-1',
    ];
    const made = calls('--bootstrap-server', 'b:1', ...names);
    expect(made.join('\n')).not.toMatch(/ride-calendar|command-config|User:(topics|projector) /);
    expect(made).toContain(
      '--bootstrap-server b:1 --add --allow-principal User:my-topics --topic mine.rejected --operation Create --operation Describe --operation DescribeConfigs',
    );
    expect(made).toContain(
      '--bootstrap-server b:1 --add --allow-principal User:publisher --transactional-id mine. --resource-pattern-type prefixed --operation Describe --operation Write',
    );
    expect(made).toContain('--bootstrap-server b:1 --add --allow-principal User:p-1 --group ours --operation Read');
    expect(made.filter((call) => call.includes('User:simulate '))).toHaveLength(2);
  });
});
