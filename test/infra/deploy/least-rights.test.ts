import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { topicNames } from '../../../schemas/events/records.ts';
import { grantedLines, kafkaAclsFile } from '../../support/servers/kafka-acls.ts';
import { redisUsersFile } from '../../support/servers/redis-users.ts';

const document = readFileSync(new URL('../../../docs/least-rights.md', import.meta.url), 'utf8');

describe('docs/least-rights.md', () => {
  it('has Redis’s users as the file has them', () => {
    expect(document).toContain(`\`\`\`\n${readFileSync(redisUsersFile, 'utf8')}\`\`\`\n`);
  });

  it('has Kafka’s rights as the script grants them, and no other', () => {
    const rows = [...document.matchAll(/^\| `([a-z-]+)` \| (facts|rejected|group) \| ([A-Z]\w+(?: \w+)*) \|$/gm)];
    expect(rows.map(([, user, resource, operations]) => `${user} ${resource} ${operations}`)).toEqual(
      grantedLines().map(({ user, resource, operations }) => `${user} ${resource} ${operations.join(' ')}`),
    );
  });
});

describe('infra/deploy/kafka-acls.sh', () => {
  /** What it calls Kafka's tool with. */
  function calls(env: Record<string, string>): string[] {
    const folder = mkdtempSync(join(tmpdir(), 'ride-calendar-acls-'));
    try {
      const tool = join(folder, 'kafka-acls.sh');
      writeFileSync(tool, '#!/bin/sh\necho "$*"\n');
      chmodSync(tool, 0o755);
      const PATH = `${folder}:${process.env.PATH}`;
      return execFileSync(fileURLToPath(kafkaAclsFile), { env: { PATH, ...env }, encoding: 'utf8' })
        .trim()
        .split('\n');
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it('calls Kafka’s tool once for each line, with the topics, the group and the operations', () => {
    const made = calls({ BROKERS: 'kafka:9092', ADMIN: 'admin.properties' });
    expect(made).toHaveLength(grantedLines().length);
    const facts = topicNames.map((name) => `--topic ride-calendar.${name}`);
    expect(made[0]).toBe(
      `--bootstrap-server kafka:9092 --command-config admin.properties --add --allow-principal User:projector ${facts.join(' ')} --operation Read --operation DescribeConfigs`,
    );
    expect(made).toContain(
      '--bootstrap-server kafka:9092 --command-config admin.properties --add --allow-principal User:projector --group ride-calendar --operation Read',
    );
  });

  it('takes another prefix and group, and a broker without credentials', () => {
    const made = calls({ BROKERS: 'b:1', KAFKA_TOPIC_PREFIX: 'mine.', KAFKA_GROUP: 'ours' }).join('\n');
    expect(made).toContain('--topic mine.rejected');
    expect(made).toContain('--group ours');
    expect(made).not.toMatch(/ride-calendar|command-config/);
  });

  it('says what it needs where nobody named a broker', () => {
    expect(() => calls({})).toThrow(/set BROKERS/);
  });
});
