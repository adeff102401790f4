import type { Command } from 'commander';

/** The examples that a command's --help prints. */
export function helpExamples(command: Command): string[] {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return [...help.matchAll(/^ {2}(.*npx ride-calendar .*)$/gm)].map((match) => match[1]!);
}
