import { archiveOption, type Commands, wholeOption } from '../cli/commands.ts';

/** The commands about the event log and the views' distance from it. */
export function logCommands(program: Commands): void {
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
  program
    .add(
      'lag',
      'Says how far the views are behind the event log, how old the oldest change is that is not yet readable, and who leads. ' +
        'Exit code 1 if parts of the store have no running projector, or rejected records of unknown schemas are still the last of their key. With --until it waits for one record: exit code 0 once it is readable, ' +
        '1 after the timeout. Needs KAFKA_BROKERS and REDIS_URL.',
      [
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar lag',
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar lag --until nights/0@0 --timeout 10',
      ],
      async () => (await import('./lag.ts')).runLag,
      'the record of --until was rejected: it says why',
    )
    .option('--until <place>', 'wait until the record at a place such as nights/3@107 is readable')
    .addOption(wholeOption('--timeout <seconds>', 'how long to wait with --until (default: 60)', 0, 86_400));
  program
    .add(
      'why <key...>',
      'Says of each TOPIC/KEY what the log holds of it, which answers show it, and all that hides it from the others, with the rules. ' +
        'Prints nothing that a record holds. With REDIS_URL beside Kafka also whether it is readable yet. Exit code 1 if an answer shows ' +
        'none of it, or its last record was rejected.',
      [
        'npx ride-calendar why rides/pp15r4935 nights/pp15r4935/2015-06-13 --archive test/data/portland',
        'npx ride-calendar why nights/pp15r4935/2015-06-13 --rider r0020 --archive test/data/portland',
      ],
      async () => (await import('./why.ts')).runWhy,
    )
    .option('--rider <id>', 'also this rider’s own answers: not followed, not going, blocked')
    .option(...archiveOption);
  program
    .add(
      'verify',
      'Reads the event log by itself and compares every view of the live store with it, while changes flow: names what is missing, ' +
        'extra or different. Exit code 1 where something is. It changes no view and no consumer group. Needs REDIS_URL, and ' +
        'KAFKA_BROKERS or ARCHIVE_DIR.',
      [
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar verify',
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar verify --repair --json',
      ],
      async () => (await import('./verify.ts')).runVerify,
      'some views could not be compared: they changed, and nobody leads',
    )
    .option('--repair', 'have the projector that leads rewrite what differs, then compare that again');
}

/** The commands about what riders have connected. */
export function signInCommands(program: Commands): void {
  const signIn = program.group('sign-in', 'Lists which apps are connected, or ends connections.');
  const riderOption = ['--rider <id>', 'of this rider only'] as const;
  const clientOption = ['--client <id>', 'of this client only'] as const;
  signIn
    .add(
      'list',
      'Says how many connections each client has, since when, and how many browsers are signed in. It names no rider. ' +
        'Needs AUTH_REDIS_URL or REDIS_URL.',
      [
        'AUTH_REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar sign-in list',
        'AUTH_REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar sign-in list --rider r0020',
      ],
      async () => (await import('./sign-in-connections.ts')).runSignInList,
    )
    .option(...riderOption)
    .option(...clientOption);
  signIn
    .add(
      'end',
      'Ends connections, so that their refresh tokens are refused: all of a client, all of a rider with the sessions of ' +
        'their browsers, or those of a client and a rider. Exit code 1 if there were none. Needs AUTH_REDIS_URL or REDIS_URL.',
      ['AUTH_REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar sign-in end --client night-rider'],
      async () => (await import('./sign-in-connections.ts')).runSignInEnd,
    )
    .option(...riderOption)
    .option(...clientOption);
}

/** The commands about generations of views. */
export function generationsCommands(program: Commands): void {
  const generations = program.group('generations', 'Lists the generations of views in the store, or drops one.');
  generations.add(
    'list',
    'Says which generations of views the store holds, who leads each, and their size. Needs REDIS_URL.',
    ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations list'],
    async () => (await import('./generations.ts')).runGenerationsList,
  );
  generations.add(
    'drop <generation>',
    'Removes all views of a generation that no projector leads any more. Its API processes answer 503 until one fills it again. ' +
      'Needs REDIS_URL.',
    ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar generations drop 1'],
    async () => (await import('./generations.ts')).runGenerationsDrop,
  );
}
