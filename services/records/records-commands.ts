import { Option } from 'commander';
import { topicNames } from '../../schemas/events/records.ts';
import { archiveOption, type Commands } from '../cli/commands.ts';

const reasonOption = [
  '--reason <text>',
  'those of one reason, as rejected list says it, such as "unknown schema id"',
] as const;
const placeOption = ['--place <place...>', 'those at places such as nights/1@234'] as const;

/** The commands about the log's records, and about bad ones. */
export function recordsCommands(program: Commands): void {
  const records = program.group('records', 'Publishes, checks or prints records as JSON Lines, or says their schemas.');
  records
    .add(
      'publish [file]',
      'Publishes JSON Lines, from a file or standard input (also -): an object a line, {"topic":"nights","key":"taco/2026-11-26","value":{…}}; ' +
        'value null is a tombstone. A file is checked whole before anything is published; standard input is checked line by line, ' +
        'and ends at the first line that breaks a rule. With --json each record’s place is printed. Needs KAFKA_BROKERS, or --archive.',
      [
        'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar records publish docs/example-records.jsonl',
        'npx ride-calendar records publish docs/example-records.jsonl --archive ./tried && npx ride-calendar archive check ./tried',
      ],
      async () => (await import('./publish.ts')).runPublish,
    )
    .option('--archive <dir>', 'write a new archive, to a folder that is not there yet, instead of Kafka')
    .option('--dry-run', 'check the lines, and the topics if KAFKA_BROKERS is set: publish nothing');
  records
    .add(
      'check [file]',
      'Checks a file of JSON Lines (- is standard input), an archive’s folder, or Kafka: says every record that breaks a rule (an error) and every doubtful one (a warning), ' +
        'by code, with count, first places and what to do. Exit code 1 if there is an error. docs/records-check.md lists the codes.',
      [
        'npx ride-calendar records check docs/example-records.jsonl',
        'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar records check',
      ],
      async () => (await import('./check.ts')).runCheck,
    )
    .option('--strict', 'exit code 1 for warnings too')
    .option('--archive <dir>', 'the archive to check; without it and a file KAFKA_BROKERS, ARCHIVE_DIR or the sample');
  records
    .add(
      'print',
      'Prints the log as JSON Lines, which records publish takes, and rejected records to standard error with place and reason. It prints ' +
        'riders’ data and secret places, as any Kafka tool would. Of values that came with more fields than our schema has, it prints ours.',
      [
        'npx ride-calendar records print --topic nights --archive test/data/portland',
        'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar records print --topic rides metros',
      ],
      async () => (await import('./print.ts')).runPrint,
    )
    .addOption(new Option('--topic <topic...>', 'of these topics only').choices(topicNames))
    .option('--key <key...>', 'of these keys only')
    .option('--from <instant>', 'with this timestamp or a later one, such as 2026-11-26T18:30:00Z')
    .option('--follow', 'go on until Ctrl-C, from Kafka')
    .option(...archiveOption);
  records.add(
    'schemas',
    'Says of each topic the schema’s fingerprint, the ten bytes in front of a value, an example key and record, and the schema.',
    ['npx ride-calendar records schemas'],
    async () => (await import('./schemas.ts')).runSchemas,
  );
  const rejected = program.group('rejected', 'Lists the log’s rejected records, or publishes them again.');
  rejected
    .add(
      'list',
      'Says which rejected records there are: reasons, counts and places, and which are unresolved: still the last of their key. ' +
        'What they hold is shown only where that is asked for. Exit code 1 where one is unresolved.',
      ['npx ride-calendar rejected list --archive test/data/portland --show'],
      async () => (await import('./rejected-list.ts')).runRejectedList,
    )
    .option('--show', 'shows the fields that can be read and the reason; hides riders and secret places')
    .option('--personal', 'with --show: riders too')
    .option('--secrets', 'with --show: the places of secret meetings too')
    .option(...reasonOption)
    .option(...placeOption)
    .option(...archiveOption);
  rejected
    .add(
      'resubmit',
      'Publishes rejected records again, each to its own partition: those that break no rule any more, and whose key has had no later record. ' +
        'Needs KAFKA_BROKERS.',
      ['KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar rejected resubmit --all'],
      async () => (await import('./rejected-resubmit.ts')).runRejectedResubmit,
    )
    .option('--all', 'all of them')
    .option(...reasonOption)
    .option(...placeOption);
}
