import type { Commands } from '../cli/commands.ts';

export function serveCommands(program: Commands): void {
  program
    .add(
      'start',
      'Runs projector, API and authorization server in one process. On its own: a sample archive, views in memory.',
      [
        'npx ride-calendar start',
        'KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar start',
        'SIGN_IN=pick ARCHIVE_DIR=test/data/portland npx ride-calendar start --json --rider r0020',
      ],
      async () => (await import('./start.ts')).runStart,
    )
    .option('--rider <id>', 'prints a token of this rider, where riders can be picked');
  program.add(
    'api',
    'Runs the read API and the authorization server. Needs REDIS_URL.',
    ['REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar api'],
    async () => (await import('./api.ts')).runApi,
  );
  program.add(
    'projector',
    'Makes views of the event log. Needs REDIS_URL, and KAFKA_BROKERS or ARCHIVE_DIR.',
    ['KAFKA_BROKERS=127.0.0.1:9092 REDIS_URL=redis://127.0.0.1:6379 npx ride-calendar projector'],
    async () => (await import('./run-projector.ts')).runProjector,
  );
}
