import { Command, CommanderError } from 'commander';
import { causeText } from '../infra/net/cause-chain.ts';
import { MissingTopicsError } from '../projector/ports/event-log.ts';
import { addCommands } from './commands.ts';
import { loadSettings, misspeltSettings, type Settings, SettingsError } from './settings/settings.ts';
import { type ExitCode, type Io, UsageError, withoutProgress } from './wiring/command/io.ts';

const exitCodes = `
Exit codes:
  0  done
  1  it failed, or found what it was asked to look for
  2  wrong usage or settings: each is named on a line of its own

Settings are environment variables: docs/settings.md lists them.`;

/** What a command does. Its arguments are among the options, by their names. */
type Run<Options> = (options: Options, settings: Settings, io: Io) => Promise<ExitCode>;

/** The commands of a program, or of one of its groups. */
export interface Commands {
  /** Adds a command with --json and its examples. `load` gives what it does. */
  add<Options extends object>(
    usage: string,
    description: string,
    examples: readonly string[],
    load: () => Promise<Run<Options>>,
  ): Command;
  /** Adds a command that only has commands of its own. */
  group(name: string, description: string): Commands;
}

/** The command line. `onExit` is called with the exit code of the command that ran. */
export function commandLine(io: Io, env: typeof process.env, onExit: (code: ExitCode) => void = () => {}): Command {
  const program = new Command('ride-calendar');
  program
    .description('Which group bike rides meet tonight: an event log folded into ready-made answers.')
    .usage('<command> [options]')
    .addHelpText('after', exitCodes)
    .showHelpAfterError('"ride-calendar --help" lists the commands, and each has --help of its own.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: (text) => io.err(text.trimEnd()) });

  /** Subcommands inherit the overrides. */
  const commandsOf = (parent: Command): Commands => ({
    add(usage, description, examples, load) {
      const added = parent
        .command(usage)
        .description(description)
        .option('--json', 'JSON for scripts: an object on each line')
        .addHelpText(
          'after',
          `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((e) => `  ${e}`).join('\n')}`,
        )
        .addHelpText('after', exitCodes);
      return added.action(async () => {
        const args = added.registeredArguments.map((argument, i) => [argument.name(), added.args[i]]);
        const options = { ...added.opts(), ...Object.fromEntries(args) };
        const settings = loadSettings(env);
        const misspelt = misspeltSettings(env);
        if (misspelt.length > 0) {
          const { makeLogger } = await import('./wiring/command/logger.ts');
          const log = makeLogger(settings);
          for (const line of misspelt) log.warn(line);
        }
        const run = await load();
        onExit(await run(options, settings, options.json ? withoutProgress(io) : io));
      });
    },
    group: (name, description) => commandsOf(parent.command(name).description(description)),
  });
  addCommands(commandsOf(program));
  return program;
}

/** Runs one command line. Resolves to its exit code. Never throws. */
export async function runCli(args: readonly string[], io: Io, env: typeof process.env): Promise<number> {
  let exitCode: ExitCode = 0;
  try {
    const program = commandLine(io, env, (code) => {
      exitCode = code;
    });
    if (args.length === 0) program.help({ error: true });
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed what is wrong. Help that was asked for is not a failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof SettingsError) {
      for (const line of error.lines) io.err(line);
      return 2;
    }
    // Topics are for the user to make, or the settings name others.
    if (error instanceof UsageError || error instanceof MissingTopicsError) {
      io.err(error.message);
      return 2;
    }
    if (error instanceof Error && error.name === 'AbortError') {
      io.err('Stopped before the end');
      return 1;
    }
    io.err(env.LOG_LEVEL === 'debug' && error instanceof Error ? (error.stack ?? error.message) : causeText(error));
    return 1;
  }
}
