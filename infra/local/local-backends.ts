import { race, wait } from '../../projector/running/stop.ts';
import { stopSignal } from '../../projector/running/stop-signal.ts';
import { findBackends } from './find-backends.ts';

const usage = `npm run backends
  Starts Kafka and Redis to try things on, until Ctrl-C: in containers, or as processes of Debian's packages and Kafka's jars.
  KAFKA_BROKERS or REDIS_URL is used instead where it is set.`;

if (process.argv.length > 2) {
  const isHelp = process.argv[2] === '--help';
  console[isHelp ? 'log' : 'error'](isHelp ? usage : `It takes no arguments.\n\n${usage}`);
  process.exit(isHelp ? 0 : 2);
}

const signalled = wait(stopSignal());
console.log('Starting Kafka and Redis; the first time takes a minute …');
try {
  const backends = await race(
    null,
    findBackends(),
    signalled.then(() => null),
  );
  if (backends) {
    console.log(`
Kafka and Redis answer. In another terminal:

  export KAFKA_BROKERS=${backends.kafkaBrokers}
  export REDIS_URL=${backends.redisUrl}
  npx ride-calendar topics      # create the topics
  npm start                     # read the log and answer clients

And with the same two lines in one more terminal:

  npx ride-calendar simulate    # publish a calendar, then changes until Ctrl-C; prints a developer key

Ctrl-C stops both and removes their data.`);
    // The servers do not keep this process alive, so a timer does.
    const alive = setInterval(() => undefined, 60_000);
    await signalled;
    clearInterval(alive);
    console.log('\nStopping …');
    await backends.stop();
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
process.exit();
