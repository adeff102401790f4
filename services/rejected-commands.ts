import type { Command } from 'commander';
import type { AddCommand } from './command-line.ts';
import type { RejectedListOptions } from './rejected-list.ts';
import type { RejectedResubmitOptions } from './rejected-resubmit.ts';
import type { Io } from './wiring/command/io.ts';

const reasonOption = [
  '--reason <text>',
  'those of one reason, as rejected list says it, such as "unknown schema id"',
] as const;
const placeOption = ['--place <place...>', 'those at places such as nights/1@234'] as const;

/** The commands for bad records. */
export function rejectedCommands(program: Command, command: AddCommand, io: Io): void {
  const rejected = program
    .command('rejected')
    .description('Lists the log’s bad records, or publishes them again.')
    .addHelpText('after', '\nExample:\n  npx ride-calendar rejected list --archive test/data/portland');
  command(
    rejected,
    'list',
    'Says which bad records there are: reasons, counts and places. What they hold is shown only where that is asked for.',
    [
      'npx ride-calendar rejected list --archive test/data/portland --show',
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar rejected list --json',
    ],
    async (options: RejectedListOptions, settings) =>
      (await import('./rejected-list.ts')).runRejectedList(options, settings, io),
  )
    .option('--show', 'what of them can be read, and why they are bad now; nothing of riders and secret places')
    .option('--personal', 'with --show: riders too')
    .option('--secrets', 'with --show: the places of secret meetings too')
    .option(...reasonOption)
    .option(...placeOption)
    .option('--archive <dir>', 'the archive to read; without it KAFKA_BROKERS or ARCHIVE_DIR');
  command(
    rejected,
    'resubmit',
    'Publishes bad records again, each to its own partition: those that are good by now, and whose key has had no later record. ' +
      'Needs KAFKA_BROKERS.',
    [
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar rejected resubmit --all',
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar rejected resubmit --all --json',
    ],
    async (options: RejectedResubmitOptions, settings) =>
      (await import('./rejected-resubmit.ts')).runRejectedResubmit(options, settings, io),
  )
    .option('--all', 'all of them')
    .option(...reasonOption)
    .option(...placeOption);
}
