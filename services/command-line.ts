import { Command, CommanderError } from 'commander';
import { causeText } from '../infra/net/cause-chain.ts';
import { MissingTopicsError } from '../projector/ports/event-log.ts';
import { inLines, inOneLine } from '../projector/running/foreign-text.ts';
import { archiveCommands } from './archive/archive-commands.ts';
import { buildInfo } from './cli/build-info.ts';
import type { Commands } from './cli/commands.ts';
import { type ExitCode, type Io, OutputClosedError, type ProgramIo, UsageError } from './cli/io.ts';
import { generationsCommands, logCommands, signInCommands } from './operate/operate-commands.ts';
import { pastCommands } from './past/past-commands.ts';
import { recordsCommands } from './records/records-commands.ts';
import { serveCommands } from './serve/serve-commands.ts';
import { loadSettings, misspeltSettings, SettingsError } from './settings/settings.ts';
import { simulateCommand } from './simulate/simulate-command.ts';

/** The end of a help. `three` is what exit code 3 means, where a command has it. */
const exitCodes = (three?: string): string => `
Exit codes:
  0  done
  1  it failed, or found what it was asked to look for
  2  wrong usage or settings: each is named on a line of its own${three ? `\n  3  ${three}` : ''}

Settings are environment variables: docs/settings.md lists them.`;

/** The command line. `onExit` is called with the exit code of the command that ran. */
export function commandLine(
  io: ProgramIo,
  env: typeof process.env,
  onExit: (code: ExitCode) => void = () => {},
): Command {
  const program = new Command('ride-calendar');
  program
    .description('Which group bike rides meet tonight: answers prepared from an event log.')
    .usage('<command> [options]')
    .option('-V, --version', 'print the version and the commit that it was built from')
    .on('option:version', () => {
      const { version, commit } = buildInfo();
      io.out(`${version} ${commit}`);
      throw new CommanderError(0, 'commander.version', '');
    })
    .addHelpText('after', exitCodes('of lag, verify and archive check only: see their --help'))
    .showHelpAfterError('"ride-calendar --help" lists the commands, and each has --help of its own.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: (text) => io.err(text.trimEnd()) });

  /** Adds commands to the program or to a group. They inherit `exitOverride` and `configureOutput`. */
  const commandsOf = (parent: Command): Commands => ({
    add(usage, description, examples, load, three) {
      const added = parent
        .command(usage)
        .description(description)
        .option('--json', 'JSON for scripts: an object on each line')
        .addHelpText(
          'after',
          `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((e) => `  ${e}`).join('\n')}`,
        )
        .addHelpText('after', exitCodes(three));
      return added.action(async () => {
        const args = added.registeredArguments.map((argument, i) => [argument.name(), added.processedArgs[i]]);
        const options = { ...added.opts(), ...Object.fromEntries(args) };
        const settings = loadSettings(env);
        const { makeLogger } = await import('./cli/logger.ts');
        const log = makeLogger(settings);
        for (const line of misspeltSettings(env)) log.warn(line);
        const run = await load();
        // A script that reads the output is shown no progress.
        const errIsTerminal = io.errIsTerminal && !options.json;
        const own: Io = Object.create(io, { log: { value: log }, errIsTerminal: { value: errIsTerminal } });
        onExit(await run(options, settings, own));
      });
    },
    group: (name, description) => commandsOf(parent.command(name).description(description)),
  });
  const commands = commandsOf(program);
  // In the order of --help. The code of a command is loaded when it runs, so that --help is quick.
  serveCommands(commands);
  logCommands(commands);
  simulateCommand(commands);
  archiveCommands(commands);
  pastCommands(commands);
  recordsCommands(commands);
  generationsCommands(commands);
  signInCommands(commands);
  return program;
}

/** Runs one command line. Resolves to its exit code. Never throws. */
export async function runCli(args: readonly string[], given: ProgramIo, env: typeof process.env): Promise<number> {
  // Nothing that a terminal obeys is printed, whatever text of others a line holds.
  const out: Io['out'] = (line, end) => given.out(inLines(line), end);
  const err: Io['err'] = (line) => given.err(inLines(line));
  const io: ProgramIo = Object.create(given, { out: { value: out }, err: { value: err } });
  let exitCode: ExitCode = 0;
  try {
    const program = commandLine(io, env, (code) => {
      exitCode = code;
    });
    if (args.length === 0) program.help({ error: true });
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    const { code, lines } = outcomeOf(error, env.LOG_LEVEL === 'debug');
    for (const line of lines) io.err(inOneLine(line));
    return code;
  }
}

/** How a command that threw ends, with what it prints to standard error. `withStack`: also where an unexpected error comes from. */
function outcomeOf(error: unknown, withStack: boolean): { code: ExitCode; lines: readonly string[] } {
  if (!(error instanceof Error)) return { code: 1, lines: [causeText(error)] };
  // Commander has printed what is wrong. Help that was asked for is not a failure.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, lines: [] };
  if (error instanceof OutputClosedError) return { code: 0, lines: [] };
  if (error instanceof SettingsError) return { code: 2, lines: error.lines };
  // The user makes missing topics, or corrects the settings that name them.
  if (error instanceof UsageError || error instanceof MissingTopicsError) return { code: 2, lines: [error.message] };
  if (error.name === 'AbortError') return { code: 1, lines: ['Stopped before the end'] };
  return { code: 1, lines: withStack && error.stack ? error.stack.split('\n') : [causeText(error)] };
}
