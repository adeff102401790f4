import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Commands } from './command-line.ts';
import { clocks } from './past/past-time.ts';
import { defaultSizes, sizeLimits } from './simulate/sizes.ts';

/** Adds every command to the program. The code of a command is loaded when it runs, so that --help is quick. */
export function addCommands(program: Commands): void {
  serviceCommands(program);
  logCommands(program);
  archiveCommands(program);
  pastCommands(program);
  rejectedCommands(program);
  generationsCommands(program);
}

/** What serves, until it is told to stop. */
function serviceCommands(program: Commands): void {
  program
    .add(
      'start',
      'Runs projector, API and authorization server in one process. On its own: a sample archive, views in memory.',
      [
        'npx ride-calendar start',
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar start',
      ],
      async () => (await import('./start.ts')).runStart,
    )
    .option(
      '--allow-no-sign-in',
      'without SIGN_IN_ISSUER, serve for reading only, also on a HOST that others can reach; no rider can be picked there',
    );
  program.add(
    'api',
    'Runs the read API and the authorization server. Needs REDIS_URL.',
    ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar api'],
    async () => (await import('./api.ts')).runApi,
  );
  program.add(
    'projector',
    'Folds the event log into views. Needs REDIS_URL, and KAFKA_BROKERS or ARCHIVE_DIR.',
    ['KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar projector'],
    async () => (await import('./projector.ts')).runProjector,
  );
}

/** What reads or fills the event log beside it. */
function logCommands(program: Commands): void {
  program
    .add(
      'topics',
      'Creates the event log’s topics, or says how they differ from what they should be. Needs KAFKA_BROKERS.',
      ['KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar topics'],
      async () => (await import('./topics.ts')).runTopics,
    )
    .option('--check', 'only look: create nothing')
    .addOption(wholeOption('--partitions <n>', 'of riders, rides, nights, attendance and relations alike', 1, 1000))
    .addOption(wholeOption('--replication-factor <n>', 'of topics to create (default: the broker’s)', 1, 9));
  program.add(
    'lag',
    'Says how far the views are behind the event log, how old the oldest change is that is not yet readable, and who leads. ' +
      'Exit code 1 if some tags have no running projector. Needs KAFKA_BROKERS and REDIS_URL.',
    ['KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar lag'],
    async () => (await import('./lag.ts')).runLag,
  );
  program
    .add(
      'verify',
      'Folds the event log by itself and compares every view of the live store with it, while changes flow: names what is missing, ' +
        'extra or different. Exit code 1 where something is. It changes no view and no consumer group. Needs REDIS_URL, and ' +
        'KAFKA_BROKERS or ARCHIVE_DIR.',
      [
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar verify',
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar verify --repair --json',
      ],
      async () => (await import('./verify.ts')).runVerify,
    )
    .option('--repair', 'have the projector that leads mend what differs, then compare that again');
  simulateOptions(
    program.add(
      'simulate',
      'Publishes a made-up calendar, and then a believable stream of changes, to Kafka or to an archive. Never use it on ' +
        'a log that serves real riders: its developer keys can be worked out from the seed.',
      [
        'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar simulate --rate 20',
        'npx ride-calendar simulate --archive ./sample --seed 7 --count 1000',
      ],
      async () => (await import('./simulate.ts')).runSimulate,
    ),
  );
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
      wholeOption('--rate <n>', 'changes a second once the calendar is there; 0: as fast as possible', 0, 1e6).default(
        5,
      ),
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

/** Archives of the log. */
function archiveCommands(program: Commands): void {
  const archive = program.group('archive', 'Copies the event log to an archive on disk, or back.');
  archive
    .add(
      'save <dir>',
      'Saves the log, up to its present ends, to a folder, or adds to an archive that was saved there before. Needs KAFKA_BROKERS.',
      ['KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar archive save ./backup'],
      async () => (await import('./archive-save.ts')).runArchiveSave,
    )
    .option('--follow', 'go on until Ctrl-C, so that nothing that Kafka compacts away later is missed');
  archive.add(
    'check <dir>',
    'Reads every record of an archive and compares its files with the manifest; names what is cut, altered, missing or foreign. ' +
      'It goes by the topic prefix of the archive itself, whatever KAFKA_TOPIC_PREFIX says.',
    ['npx ride-calendar archive check test/data/portland'],
    async () => (await import('./archive-check.ts')).runArchiveCheck,
  );
  archive.add(
    'forget <rider> <dir>',
    'Takes a rider out of an archive: their records, their place among rides’ leaders, and records set aside that are about them. Every other record stays, at its offset.',
    ['npx ride-calendar simulate --archive ./erasing --seed 7 && npx ride-calendar archive forget u_0l3xe3 ./erasing'],
    async () => (await import('./archive-forget.ts')).runArchiveForget,
  );
  archive
    .add(
      'load <dir>',
      'Publishes an archive’s records to the log’s empty topics, each key to the partition where Kafka’s own producer puts it. ' +
        'A load that was stopped goes on with --append. Needs KAFKA_BROKERS.',
      [
        'export KAFKA_BROKERS=127.0.0.1:9092 KAFKA_TOPIC_PREFIX=portland. && npx ride-calendar topics && npx ride-calendar archive load test/data/portland',
      ],
      async () => (await import('./archive-load.ts')).runArchiveLoad,
    )
    .option('--append', 'of each key the last record, unless the topics hold one that is newer or as old')
    .option('--unchecked', 'what is there, though it is not as the archive’s manifest.json says');
}

const archiveOption = [
  '--archive <dir>',
  'the archive to read; without it KAFKA_BROKERS, ARCHIVE_DIR or the sample',
] as const;
const byOption = (): Option =>
  new Option('--by <clock>', 'the records’ time: the log’s timestamp, or upstream’s changed_at').choices(clocks);

/** What reads the log’s past. */
function pastCommands(program: Commands): void {
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
    .option('--offsets <file>', 'in place of --as-of: the exact records that replay --as-of … --json said')
    .addOption(byOption())
    .option('--now <time>', 'where the calendar’s clock stands (default: at the instant)')
    .option('--serve', 'serve the whole API, /docs too, on HOST and PORT, until Ctrl-C; nothing is written')
    .option('--get <path>', 'print one answer, such as /rides/pp15r4935')
    .option('--rider <id>', 'whose /me answer; with --serve: prints a token of theirs')
    .option(...archiveOption);
  program
    .add(
      'history <path>',
      'Prints every version of one answer, oldest first, with the records that made it so: when was a night called off, when did ' +
        'its count pass 50? A version is what replay --as-of says at its time, with the clock there, so a midnight makes one too.',
      ['npx ride-calendar history /rides/pp15r4935 --archive test/data/portland'],
      async () => (await import('./history.ts')).runHistory,
    )
    .option('--rider <id>', 'whose /me answer')
    .option('--from <time>', 'begin with the version that was in force then')
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

const reasonOption = [
  '--reason <text>',
  'those of one reason, as rejected list says it, such as "unknown schema id"',
] as const;
const placeOption = ['--place <place...>', 'those at places such as nights/1@234'] as const;

/** Bad records. */
function rejectedCommands(program: Commands): void {
  const rejected = program.group('rejected', 'Lists the log’s bad records, or publishes them again.');
  rejected
    .add(
      'list',
      'Says which bad records there are: reasons, counts and places. What they hold is shown only where that is asked for.',
      ['npx ride-calendar rejected list --archive test/data/portland --show'],
      async () => (await import('./rejected-list.ts')).runRejectedList,
    )
    .option('--show', 'what of them can be read, and why they are bad now; nothing of riders and secret places')
    .option('--personal', 'with --show: riders too')
    .option('--secrets', 'with --show: the places of secret meetings too')
    .option(...reasonOption)
    .option(...placeOption)
    .option('--archive <dir>', 'the archive to read; without it KAFKA_BROKERS or ARCHIVE_DIR');
  rejected
    .add(
      'resubmit',
      'Publishes bad records again, each to its own partition: those that are good by now, and whose key has had no later record. ' +
        'Needs KAFKA_BROKERS.',
      ['KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar rejected resubmit --all'],
      async () => (await import('./rejected-resubmit.ts')).runRejectedResubmit,
    )
    .option('--all', 'all of them')
    .option(...reasonOption)
    .option(...placeOption);
}

/** View formats. */
function generationsCommands(program: Commands): void {
  const generations = program.group('generations', 'Lists the formats of views in the store, or drops one.');
  generations.add(
    'list',
    'Says which view formats the store holds, who leads each, and their size. Needs REDIS_URL.',
    ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations list'],
    async () => (await import('./generations.ts')).runGenerationsList,
  );
  generations
    .add(
      'drop <format>',
      'Removes all views of a format that no projector leads any more. Needs REDIS_URL.',
      ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations drop 1'],
      async () => (await import('./generations.ts')).runGenerationsDrop,
    )
    .option(
      '--force',
      'also the format of this very version: its API processes answer 503 until a projector fills it again',
    );
}
