import type { Command } from 'commander';
import type { AddCommand } from './command-line.ts';
import type { Io } from './wiring/command/io.ts';

/** The commands for view formats. */
export function generationsCommands(program: Command, command: AddCommand, io: Io): void {
  const generations = program
    .command('generations')
    .description('Lists the formats of views in the store, or drops one.')
    .addHelpText('after', '\nExample:\n  REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations list');
  command(
    generations,
    'list',
    'Says which view formats the store holds, who leads each, and their size. Needs REDIS_URL.',
    [
      'REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations list',
      'REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations list --json',
    ],
    async (options: { json?: boolean }, settings) =>
      (await import('./generations-list.ts')).runGenerationsList(options, settings, io),
  );
  command(
    generations,
    'drop <format>',
    'Removes all views of a format that no projector leads any more. Needs REDIS_URL.',
    ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations drop 1'],
    async (options: { json?: boolean; force?: boolean }, settings, [format]) =>
      (await import('./generations-drop.ts')).runGenerationsDrop({ ...options, format: format! }, settings, io),
  ).option(
    '--force',
    'also the format of this very version: its API processes answer 503 until a projector fills it again',
  );
}
