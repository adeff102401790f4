import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { generationsCommands } from './generations-commands.ts';
import { pastCommands } from './past-commands.ts';
import { rejectedCommands } from './rejected-commands.ts';
import { loadSettings, type Settings, SettingsError } from './settings/settings.ts';
import { defaultSizes, sizeLimits } from './simulate/sizes.ts';
import type { SimulateCommandOptions } from './simulate.ts';
import type { StartOptions } from './start.ts';
import type { VerifyOptions } from './verify.ts';
import { type ExitCode, type Io, UsageError } from './wiring/command/io.ts';

const exitCodes = `
Exit codes:
  0  done
  1  it failed, or found what it was asked to look for
  2  wrong usage or settings: each is named on a line of its own

Settings are environment variables: docs/settings.md lists them.`;

/** Adds a command with --json, its examples, and an action that gets the settings. */
export type AddCommand = <Options extends object>(
  parent: Command,
  usage: string,
  description: string,
  examples: readonly string[],
  run: (options: Options, settings: Settings, args: string[]) => Promise<ExitCode>,
) => Command;

/** The command line. The code of a command is loaded when it runs, so that --help is quick. */
export function commandLine(io: Io, env: Readonly<Record<string, string | undefined>>): Command {
  const program = new Command('ride-calendar');
  program
    .description('Which group bike rides meet tonight: an event log folded into ready-made answers.')
    .usage('<command> [options]')
    .addHelpText('after', exitCodes)
    .showHelpAfterError('"ride-calendar --help" lists the commands, and each has --help of its own.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: (text) => io.err(text.trimEnd()) });

  /** Subcommands inherit the overrides. */
  const command: AddCommand = (parent, usage, description, examples, run) =>
    parent
      .command(usage)
      .description(description)
      .option('--json', 'JSON for scripts: an object on each line')
      .addHelpText('after', `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((e) => `  ${e}`).join('\n')}`)
      .addHelpText('after', exitCodes)
      .action(async (...received: unknown[]) => {
        const self = received.pop() as Command;
        received.pop();
        lastExit = await run(self.opts(), loadSettings(env), received as string[]);
      });

  command(
    program,
    'start',
    'Runs projector, API and authorization server in one process. On its own: a sample archive, views in memory.',
    [
      'npx ride-calendar start',
      'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar start',
    ],
    async (options: StartOptions, settings) => ended((await import('./start.ts')).runStart(settings, options)),
  ).option(
    '--allow-no-sign-in',
    'without SIGN_IN_ISSUER, serve for reading only, also on a HOST that others can reach; no rider can be picked there',
  );
  command(
    program,
    'api',
    'Runs the read API and the authorization server. Needs REDIS_URL.',
    ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar api'],
    async (options: { json?: boolean }, settings) => ended((await import('./api.ts')).runApi(settings, options)),
  );
  command(
    program,
    'projector',
    'Folds the event log into views. Needs REDIS_URL, and KAFKA_BROKERS or ARCHIVE_DIR.',
    ['KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar projector'],
    async (options: { json?: boolean }, settings) =>
      ended((await import('./projector.ts')).runProjector(settings, options)),
  );
  command(
    program,
    'topics',
    'Creates the event log’s topics, or says how they differ from what they should be. Needs KAFKA_BROKERS.',
    [
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar topics',
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar topics --check --json',
    ],
    async (options, settings) => (await import('./topics.ts')).runTopics(options, settings, io),
  )
    .option('--check', 'only look: create nothing')
    .addOption(wholeOption('--partitions <n>', 'of riders, rides, nights, attendance and relations alike', 1, 1000))
    .addOption(wholeOption('--replication-factor <n>', 'of topics to create (default: the broker’s)', 1, 9))
    .addOption(
      wholeOption(
        '--max-compaction-lag-days <n>',
        'after this time superseded records, also of erased riders, may go even if fewer than 64 MB follow them',
        7,
        3650,
      ),
    );
  command(
    program,
    'lag',
    'Says how far the views are behind the event log, how old the oldest change is that is not yet readable, and who leads. ' +
      'Exit code 1 if some tags have no running projector. Needs KAFKA_BROKERS and REDIS_URL.',
    [
      'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar lag',
      'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar lag --json',
    ],
    async (options: { json?: boolean }, settings) => (await import('./lag.ts')).runLag(options, settings, io),
  );
  command(
    program,
    'verify',
    'Folds the event log by itself and compares every view of the live store with it, while changes flow: names what is missing, ' +
      'extra or different. Exit code 1 where something is. It changes no view and no consumer group. Needs REDIS_URL, and ' +
      'KAFKA_BROKERS or ARCHIVE_DIR.',
    [
      'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar verify',
      'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar verify --repair --json',
    ],
    async (options: VerifyOptions, settings) => (await import('./verify.ts')).runVerify(options, settings, io),
  ).option('--repair', 'have the projector that leads mend what differs, then compare that again');
  simulateOptions(
    command(
      program,
      'simulate',
      'Publishes a made-up calendar, and then a believable stream of changes, to Kafka or to an archive. Never use it on ' +
        'a log that serves real riders: its developer keys can be worked out from the seed.',
      [
        'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar simulate --rate 20',
        'npx ride-calendar simulate --archive ./sample --seed 7 --count 1000',
        'npx ride-calendar simulate --archive ./big --riders 130000 --rides 2000',
      ],
      async (options: SimulateCommandOptions, settings) =>
        (await import('./simulate.ts')).runSimulate(options, settings, io),
    ),
  );
  const archive = program
    .command('archive')
    .description('Copies the event log to an archive on disk, or back.')
    .addHelpText('after', '\nExample:\n  npx ride-calendar archive check test/data/portland');
  command(
    archive,
    'save <dir>',
    'Saves the log, up to its present ends, to a folder, or adds to an archive that was saved there before. Needs KAFKA_BROKERS.',
    [
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar archive save ./backup',
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar archive save ./history --follow',
    ],
    async (options, settings, [dir]) =>
      (await import('./archive-save.ts')).runArchiveSave({ ...options, dir: dir! }, settings, io),
  ).option('--follow', 'go on until Ctrl-C, so that nothing that Kafka compacts away later is missed');
  command(
    archive,
    'check <dir>',
    'Reads every record of an archive and compares its files with the manifest; names what is cut, altered, missing or foreign. ' +
      'It goes by the topic prefix of the archive itself, whatever KAFKA_TOPIC_PREFIX says.',
    ['npx ride-calendar archive check test/data/portland'],
    async (options, settings, [dir]) =>
      (await import('./archive-check.ts')).runArchiveCheck({ ...options, dir: dir! }, settings, io),
  );
  command(
    archive,
    'forget <rider> <dir>',
    'Takes a rider out of an archive: their records, their place among rides’ leaders, and records set aside that are about them. All else stays byte for byte.',
    ['npx ride-calendar simulate --archive ./erasing --seed 7 && npx ride-calendar archive forget u_0l3xe3 ./erasing'],
    async (options, settings, [rider, dir]) =>
      (await import('./archive-forget.ts')).runArchiveForget({ ...options, rider: rider!, dir: dir! }, settings, io),
  );
  command(
    archive,
    'load <dir>',
    'Publishes an archive’s records to the log’s empty topics, each key to the partition where Kafka’s own producer puts it. ' +
      'A load that was stopped goes on where it stopped. Needs KAFKA_BROKERS.',
    [
      'export KAFKA_BROKERS=127.0.0.1:9092 KAFKA_TOPIC_PREFIX=portland. && npx ride-calendar topics && npx ride-calendar archive load test/data/portland',
    ],
    async (options, settings, [dir]) =>
      (await import('./archive-load.ts')).runArchiveLoad({ ...options, dir: dir! }, settings, io),
  )
    .option('--append', 'also after records of other producers, unless they have a newer one of the same key')
    .option('--keep-partitions', 'the archive’s own partitions; the topics must have as many')
    .option('--unchecked', 'what is there, though it is not as the archive’s manifest.json says');
  pastCommands(program, command, io);
  rejectedCommands(program, command, io);
  generationsCommands(program, command, io);
  return program;
}

let lastExit: ExitCode = 0;

/** Awaits a server, which runs until it is told to stop. It reports failures in process.exitCode. */
async function ended(run: Promise<void>): Promise<ExitCode> {
  await run;
  return process.exitCode === 1 || process.exitCode === 2 ? process.exitCode : 0;
}

function simulateOptions(command: Command): void {
  const size = (name: keyof typeof defaultSizes, placeholder: string, what: string): void => {
    const [min, max] = sizeLimits[name];
    command.addOption(wholeOption(`--${name} <${placeholder}>`, what, min, max).default(defaultSizes[name]));
  };
  size('metros', 'n', 'metros, each with its time zone and districts');
  size('rides', 'n', 'rides, weekly and one-off');
  size('riders', 'n', 'riders; about one in five responds to a night each day');
  size('days', 'n', 'days of nights, a third of them past');
  size('seed', 'n', 'the same seed, sizes and day make the same records');
  command
    .addOption(
      new Option('--rate <n>', 'changes a second once the calendar is there; 0: as fast as possible')
        .default(5)
        .argParser(rateOf),
    )
    .addOption(wholeOption('--count <n>', 'changes to make (default: until Ctrl-C; to an archive: 0)', 0, 1e12))
    .option('--archive <dir>', 'write to a new or empty folder instead of Kafka');
}

function wholeOption(flags: string, description: string, min: number, max: number): Option {
  return new Option(flags, description).argParser((text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Want a whole number from ${min} to ${max}.`);
  });
}

function rateOf(text: string): number {
  const value = Number(text);
  if (/^\d{1,7}(\.\d{1,3})?$/.test(text)) return value;
  throw new InvalidArgumentError('Want a number of changes a second, such as 20 or 0.5, or 0.');
}

/** Runs one command line. Resolves to its exit code. Never throws. */
export async function runCli(args: readonly string[], io: Io, env: typeof process.env): Promise<number> {
  lastExit = 0;
  try {
    const program = commandLine(io, env);
    if (args.length === 0) program.help({ error: true });
    await program.parseAsync(withoutHelpOfNothing(program, args), { from: 'user' });
    return lastExit;
  } catch (error) {
    // Commander has printed what is wrong. Help that was asked for is not a failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof SettingsError) {
      for (const line of error.lines) io.err(line);
      return 2;
    }
    if (error instanceof UsageError) {
      io.err(error.message);
      return 2;
    }
    if (error instanceof Error && error.name === 'AbortError') {
      io.err('Stopped before the end');
      return 1;
    }
    io.err(env.LOG_LEVEL === 'debug' && error instanceof Error ? (error.stack ?? error.message) : messageOf(error));
    return 1;
  }
}

/** `nonsense --help` is a wrong command. By itself, commander would show the program's own help, and succeed. */
function withoutHelpOfNothing(program: Command, args: readonly string[]): readonly string[] {
  const [name = ''] = args;
  const known = ['help', ...program.commands.map((command) => command.name())];
  return name.startsWith('-') || known.includes(name) ? args : [name];
}

/** An error and its causes, in one line. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message || error.name;
  return error.cause instanceof Error && !message.includes(error.cause.message)
    ? `${message}: ${messageOf(error.cause)}`
    : message;
}
