import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { topicNames } from '../../../schemas/events/records.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { grantedLines, kafkaAclsFile } from '../../support/servers/kafka-acls.ts';
import { redisUsersFile } from '../../support/servers/redis-users.ts';

const document = readFileSync(new URL('../../../docs/permissions.md', import.meta.url), 'utf8');

describe('docs/permissions.md', () => {
  it('names each user of Redis, and no other, and each whose rights in Kafka the script grants', () => {
    const [redis, kafka] = document.split('## Kafka') as [string, string];
    const users = [...readFileSync(redisUsersFile, 'utf8').matchAll(/^user (?!default )(\S+)/gm)];
    const named = [...redis.matchAll(/^\* `.+?: (.+)$/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`([a-z-]+)`/g)]);
    const second = (matches: RegExpMatchArray[]) => new Set(matches.map(([, user]) => user));
    expect(second(named)).toEqual(second(users));
    expect(grantedLines().filter(({ user }) => !kafka.includes(`\`${user}\``))).toEqual([]);
  });
});

it.each([
  ['kubernetes/example/secrets/api', 'api', 'sign-in'],
  ['kubernetes/example/secrets/projector', 'projector', 'projector'],
  ['kubernetes/example/secrets/topics', 'topics'],
  ['kubernetes/example/secrets/backup-archive', 'archive-save'],
  ['systemd/example/api', 'api', 'sign-in'],
  ['systemd/example/projector', 'projector'],
])('%s.env signs in as no user with more rights than it needs', (file, ...users) => {
  const text = readFileSync(new URL(`../../../infra/deploy/${file}.env`, import.meta.url), 'utf8');
  const named = text.matchAll(/^(?:\w*REDIS_URL=rediss?:\/\/|KAFKA_SASL_USERNAME=)([\w-]+)/gm);
  expect([...named].map(([, user]) => user)).toEqual(users);
});

it('an API may only read the views', () => {
  const [, rights] = /^user api (.*)$/m.exec(readFileSync(redisUsersFile, 'utf8'))!;
  const commands = rights!.split(' ').filter((right) => right.startsWith('+'));
  const reads = /^\+(m?get|hmget|subscribe|info|ping|client\|(setname|id|tracking)|cluster\|(info|slots|shards))$/;
  expect(commands.filter((command) => !reads.test(command))).toEqual([]);
});

describe('infra/deploy/kafka-acls.sh', () => {
  const folder = testFolder();
  writeFileSync(join(folder, 'kafka-acls.sh'), '#!/bin/sh\necho "$*"\n', { mode: 0o755 });
  const options = { env: { PATH: `${folder}:${process.env.PATH}` }, encoding: 'utf8', stdio: 'pipe' } as const;
  /** What it calls Kafka's tool with. */
  const calls = (...args: string[]) => execFileSync(fileURLToPath(kafkaAclsFile), args, options).trim().split('\n');

  it('calls Kafka’s tool once for each line, with the topics, the group and the operations, and says how it signs in', () => {
    const made = calls('--bootstrap-server', 'kafka:9092', '--command-config', 'admin.properties');
    expect(made).toHaveLength(grantedLines().length);
    const facts = topicNames.map((name) => `--topic ride-calendar.${name}`);
    expect(made[0]).toBe(
      `--bootstrap-server kafka:9092 --command-config admin.properties --add --allow-principal User:projector ${facts.join(' ')} --operation Read --operation DescribeConfigs`,
    );
  });

  it.each([
    [[], '--bootstrap-server has to name'],
    [['--group'], '--group wants a value'],
    [['--topic', 'x'], 'There is no --topic'],
    [['--user', 'nobody=x'], '--user wants one of the users'],
  ])('is ended with 2 by %j, and says why', (args, words) => {
    const ended = { status: 2, stderr: expect.stringContaining(words) };
    expect(() => calls(...args)).toThrow(expect.objectContaining(ended));
  });

  it('takes another prefix and group, other names of users, and a broker without credentials', () => {
    const names = '--topic-prefix mine. --group ours --user topics=my-topics --user projector=p-1'.split(' ');
    const made = calls('--bootstrap-server', 'b:1', ...names);
    expect(made.join('\n')).not.toMatch(/ride-calendar|command-config|User:(topics|projector) /);
    for (const rest of [
      'my-topics --topic mine.rejected --operation Create --operation Describe --operation DescribeConfigs',
      'publisher --transactional-id mine. --resource-pattern-type prefixed --operation Describe --operation Write',
      'p-1 --group ours --operation Read',
    ])
      expect(made).toContain(`--bootstrap-server b:1 --add --allow-principal User:${rest}`);
  });
});
