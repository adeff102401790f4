import { Option } from 'commander';
import { clocks } from '../../infra/archive/log/partition-cursor.ts';
import { archiveOption, type Commands } from '../cli/commands.ts';

const fromFileOption = [
  '--from-file <file>',
  'more paths, one a line (- is standard input); behind one of a rider’s own, the rider: /me/nights r0020',
] as const;
const byOption = (): Option =>
  new Option('--by <clock>', 'records’ time: the log’s timestamp, or your ride system’s changed_at').choices(clocks);

export function pastCommands(program: Commands): void {
  program
    .add(
      'replay',
      'Shows the calendar as it was at an instant: by the records whose time is at or before it, with the clock at it. ' +
        'Kafka is compacted and holds the present; the archive is the time machine.',
      [
        'npx ride-calendar replay --archive test/data/portland --as-of 2015-06-13T19:00:00Z --get /metros/portland/days/2015-06-13',
        'PORT=8090 npx ride-calendar replay --archive test/data/portland --as-of 2015-06-13T19:00:00Z --serve',
        'npx ride-calendar replay --archive test/data/portland --as-of 2015-06-13T19:00:00Z --json > at.json && npx ride-calendar replay --archive test/data/portland --offsets at.json --get /me/nights --rider r0020',
      ],
      async () => (await import('./replay.ts')).runReplay,
    )
    .option('--as-of <time>', 'the instant, such as 2015-06-13T19:00:00Z')
    .option(
      '--offsets <file>',
      'in place of --as-of: the exact records that replay --as-of … --json said (- is standard input)',
    )
    .addOption(byOption())
    .option('--now <time>', 'where the calendar’s clock stands (default: at the instant)')
    .option('--serve', 'serve the whole API, /docs too, on HOST and PORT, until Ctrl-C; nothing is written')
    .option('--get <path...>', 'print an answer, such as /rides/pp15r4935; several are a line of JSON each')
    .option(...fromFileOption)
    .option('--rider <id>', 'whose /me answer; with --serve: prints a token of theirs')
    .option(...archiveOption);
  program
    .add(
      'history [path...]',
      'Prints every version of an answer, oldest first, with the records that made it so: when was a night called off, when did ' +
        'its count pass 50? A version is what replay --as-of says at its time, with the clock there, so a midnight makes one too. ' +
        'Versions of several answers come in the order of their times, each a line of JSON.',
      [
        'npx ride-calendar history /rides/pp15r4935 --archive test/data/portland',
        'npx ride-calendar history /rides/pp15r4935 /rides/pp15r4994 --archive test/data/portland',
      ],
      async () => (await import('./history.ts')).runHistory,
    )
    .option(...fromFileOption)
    .option('--rider <id>', 'whose /me answer')
    .option('--to <time>', 'end there (default: now)')
    .addOption(byOption())
    .option(...archiveOption);
  program
    .add(
      'changes',
      'Prints which answers about days and rides differ between two instants, and the records behind each. Exit code 1 where some ' +
        'differ, 0 where none does.',
      ['npx ride-calendar changes --archive test/data/portland --from 2015-06-12T00:00:00Z --to 2015-06-13T00:00:00Z'],
      async () => (await import('./changes.ts')).runChanges,
    )
    .requiredOption('--from <time>', 'an instant, such as 2015-06-12T00:00:00Z')
    .requiredOption('--to <time>', 'an instant at or after it')
    .option(
      '--now <time>',
      'where the clock stands for both (default: at each), so that records alone make a difference',
    )
    .addOption(byOption())
    .option(...archiveOption);
  program
    .add(
      'export <dir>',
      'Writes the log’s history and the answers as Parquet to a new folder, with SQL for DuckDB: a row for each version of metros, ' +
        'districts, rides and nights, and each day and ride as it is answered.',
      ['npx ride-calendar export ./tables --archive test/data/portland'],
      async () => (await import('./export.ts')).runExport,
    )
    .option('--as-of <time>', 'the records of a time at or before it, with the clock there (default: all, and now)')
    .option('--personal', 'riders, attendance, relations and rides’ leaders too')
    .option('--secrets', 'the places of secret meetings too')
    .addOption(byOption())
    .option(...archiveOption);
}
