import type { Command } from 'commander';
import { Option } from 'commander';
import type { AddCommand } from './command-line.ts';
import { clocks } from './past/past-time.ts';
import type { ReplayOptions } from './replay.ts';
import type { Io } from './wiring/io.ts';

const archiveOption = [
  '--archive <dir>',
  'the archive to read; without it KAFKA_BROKERS, ARCHIVE_DIR or the sample',
] as const;
const byOption = (): Option =>
  new Option('--by <clock>', 'the records’ time: the log’s timestamp, or upstream’s changed_at').choices(clocks);

/** The commands that read the log's past. */
export function pastCommands(program: Command, command: AddCommand, io: Io): void {
  command(
    program,
    'replay',
    'Shows the calendar as it was at an instant: by the records whose time is at or before it, with the clock at it. ' +
      'Kafka is compacted and holds the present; the archive is the time machine.',
    [
      'npx ride-calendar replay --archive test/data/portland --as-of 2015-06-13T19:00:00Z --get /metros/portland/days/2015-06-13',
      'PORT=8090 npx ride-calendar replay --archive test/data/portland --as-of 2015-06-13T19:00:00Z --serve',
      'npx ride-calendar replay --archive test/data/portland --as-of 2015-06-13T19:00:00Z --json > at.json && npx ride-calendar replay --archive test/data/portland --offsets at.json --get /me/nights --rider r0020',
    ],
    async (options: ReplayOptions, settings) => (await import('./replay.ts')).runReplay(options, settings, io),
  )
    .option('--as-of <time>', 'the instant, such as 2015-06-13T19:00:00Z')
    .option('--offsets <file>', 'in place of --as-of: the exact records that replay --as-of … --json said')
    .addOption(byOption())
    .option('--now <time>', 'where the calendar’s clock stands (default: at the instant)')
    .option('--serve', 'serve the whole API, /docs too, on HOST and PORT, until Ctrl-C; nothing is written')
    .option('--get <path>', 'print one answer, such as /rides/pp15r4935')
    .option('--rider <id>', 'whose /me answer; with --serve: prints a token of theirs')
    .option(...archiveOption);
}
