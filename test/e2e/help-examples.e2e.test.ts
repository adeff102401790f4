import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { commandLine, runCli } from '../../services/command-line.ts';
import { quietIo } from '../support/processes/heard.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';

// The examples of --help, pasted into a checkout, after `npm run backends` where they need Kafka or Redis.

const processes = testStack().use(new Processes());
const env: Env = { KAFKA_TOPIC_PREFIX: freshTopicPrefix(), REDIS_KEY_PREFIX: freshKeyPrefix(), LOG_LEVEL: 'error' };
const usual = {
  KAFKA_BROKERS: '127.0.0.1:9092',
  REDIS_URL: 'redis://127.0.0.1:6379',
  AUTH_REDIS_URL: 'redis://127.0.0.1:6379',
};
const backends = { KAFKA_BROKERS: kafkaBrokers(), REDIS_URL: redisUrl(), AUTH_REDIS_URL: redisUrl() };
const folder = await processes.folder();

/** The examples that a command's --help prints. */
function helpExamples(command: Command): string[] {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return [...help.matchAll(/^ {2}(.*npx ride-calendar .*)$/gm)].map((match) => match[1]!);
}

const examples = (): string[] => {
  const program = commandLine(quietIo, {});
  return program.commands.flatMap((command) => [command, ...command.commands]).flatMap(helpExamples);
};

const needsServers = (example: string): boolean => /KAFKA_BROKERS=|REDIS_URL=|simulate/.test(example);
const isServer = (example: string): boolean => / ride-calendar (?:start|projector|api)\b/.test(example);
/** It goes on until it is stopped. */
const isEndless = (example: string): boolean => /--(?:rate|serve)/.test(example);

/** The settings of an example, for this run's servers, which are not at the usual ports, and topics of its own. */
async function settingsIn(example: string): Promise<Env> {
  const settings: Env = {};
  for (const [, name, value] of example.matchAll(/\b([A-Z_]+)=(\S+)/g)) {
    if (name === 'KAFKA_TOPIC_PREFIX') settings[name] = env.KAFKA_TOPIC_PREFIX! + value;
    else if (name === 'KAFKA_PARTITIONER') settings[name] = value!;
    else if (name === 'PORT') settings[name] = String(await freePort());
    else {
      expect({ name, value }).toEqual({ name, value: usual[name as keyof typeof usual] });
      settings[name!] = backends[name as keyof typeof backends];
    }
  }
  return settings;
}

/** One command of an example, as a shell would run it, with a folder of its own. */
async function paste(line: string, settings: Env): Promise<{ exit: number; said: string }> {
  const [command, file] = line.split(' > ');
  const words = command!.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ''));
  const args = words
    .slice(words.indexOf('ride-calendar') + 1)
    .map((word) => (/^\.\/|^at\.json$/.test(word) ? join(folder, word) : word));
  const stop = new AbortController();
  const [out, err]: string[][] = [[], []];
  const hear = (list: string[]) => (text: string) => {
    list.push(text);
    if (isEndless(line)) setTimeout(() => stop.abort(), 2_000);
  };
  const io = { ...quietIo, out: hear(out!), err: hear(err!), signal: stop.signal };
  const exit = await runCli(args, io, { ...env, DATA_DIR: folder, ...settings });
  if (file) await writeFile(join(folder, file), out!.join('\n'));
  return { exit, said: [...out!, ...err!].join('\n') };
}

it('lets each example of --help that needs no server work as it is pasted', async () => {
  const all = examples().filter((example) => !needsServers(example) && !isServer(example));
  expect(all.length).toBeGreaterThan(10);
  // None that only hints at its settings.
  expect(examples().filter((example) => example.includes('…'))).toEqual([]);
  for (const line of all.flatMap((example) => example.split(' && '))) {
    const settings = { KAFKA_TOPIC_PREFIX: 'ride-calendar.', ...(await settingsIn(line)) };
    const { exit, said } = await paste(line, settings);
    // A difference that was found is exit code 1.
    expect([line, exit < 2, said]).toEqual([line, true, expect.stringMatching(/./)]);
  }
});

it('lets each example of --help that needs servers work as it is pasted', async () => {
  const all = examples().filter((example) => needsServers(example) && !isServer(example));
  expect(all.length).toBeGreaterThan(8);
  const before = all.filter((example) => / (?:topics|archive load|simulate --rate)/.test(example));
  const after = all.filter((example) => !before.includes(example));
  const run = async (example: string): Promise<void> => {
    for (const line of example.split(' && ').filter((each) => !each.startsWith('export'))) {
      const { exit, said } = await paste(line, await settingsIn(example));
      expect({ line, exit, said }).toEqual({ line, exit: 0, said: expect.stringMatching(/./) });
    }
  };
  for (const example of before) await run(example);
  const projector = await processes.start('projector', { ...env, ...backends });
  await projector.ready();
  for (const example of after.filter((one) => !/generations drop|sign-in end/.test(one))) await run(example);
  // A store that this version alone has written holds no older format.
  for (const [words, said] of [
    ['generations drop', 'Cannot drop generation 1: the store holds nothing of it'],
    ['sign-in end', 'Nothing of that was connected or signed in'],
  ] as const) {
    const example = after.find((one) => one.includes(words))!;
    expect(await paste(example, await settingsIn(example))).toEqual({ exit: 1, said });
  }
}, 300_000);
