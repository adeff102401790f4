import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { needCommand } from './debian-packages.ts';
import { freePort, freePorts } from './free-port.ts';
import { kafkaJars } from './kafka-jars.ts';
import { type KafkaListener, type KafkaUser, listenerSettings, scramUser } from './kafka-listeners.ts';
import { type LocalProcess, startLocalProcess } from './local-process.ts';
import { untilAnswers } from './until-answers.ts';

const run = promisify(execFile);

export interface KafkaBroker {
  /** `127.0.0.1:<port>`, as KAFKA_BROKERS takes it. */
  brokers: string;
  /** The same with TLS only, if started with a certificate. */
  tlsBrokers: string;
  /** The same with credentials only, if started with users and a certificate. */
  saslBrokers: string;
  /** The same without credentials, with all rights, if started with `acls`. */
  adminBrokers: string;
  pid: number;
  /** Holds a folder of log files for each partition, `<topic>-<partition>`. */
  dataFolder: string;
  /** SIGKILL, like a crash. Port and data stay for `start`. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

// A small heap and only the fast compiler: the broker starts in half the time, and tests need no more.
const javaOptions = ['-Xms128m', '-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
const quiet = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];

export interface KafkaBrokerOptions {
  /** Clients must sign in as one of these users, by SASL PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. */
  users?: readonly KafkaUser[];
  /** Users may do only what an ACL allows. */
  acls?: boolean;
  /** Clients must use TLS. Key (PKCS #8) and certificate are PEM. */
  tls?: { key: string; cert: string };
  /** Its port, where that is free; else a random one. */
  usualPort?: number | undefined;
}

/** A Kafka broker (KRaft) on this machine, from Apache's jars, with its data in a temporary folder. */
export async function startKafkaBroker({
  users = [],
  acls,
  tls,
  usualPort,
}: KafkaBrokerOptions = {}): Promise<KafkaBroker> {
  await needCommand('java', 'default-jre-headless');
  const jars = `${await kafkaJars()}/*`;
  const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-kafka-'));
  const port = await freePort(usualPort);
  const ports = await freePorts(4);
  const [controllerPort, tlsPort, saslPort, ownPort] = ports as [number, number, number, number];
  const signedIn = users.length > 0;
  const listeners: KafkaListener[] = [
    ...(signedIn || tls ? [{ name: 'CLIENTS', port, sasl: signedIn, tls: tls !== undefined }] : []),
    ...(tls ? [{ name: 'TLS', port: tlsPort, sasl: false, tls: true }] : []),
    ...(signedIn && tls ? [{ name: 'SASL', port: saslPort, sasl: true, tls: false }] : []),
    // The broker connects to itself by the last listener.
    { name: 'PLAINTEXT', port: signedIn || tls ? ownPort : port, sasl: false, tls: false },
  ];
  const settings = join(folder, 'server.properties');
  let server: LocalProcess;
  const start = async () => {
    // Java unpacks the libraries of codecs into its temporary folder, and removes none when it is killed.
    const temporary = `-Djava.io.tmpdir=${folder}`;
    const args = [...javaOptions, ...quiet, temporary, '-cp', jars, 'kafka.Kafka', settings];
    server = await startLocalProcess('java', args, { cwd: folder, temporaryFolders: [folder] });
    await untilAnswers('the Kafka broker', port, server, 60_000);
  };
  try {
    const pem = join(folder, 'server.pem');
    if (tls) await writeFile(pem, tls.key + tls.cert, { mode: 0o600 });
    const listening = listenerSettings(listeners, { controllerPort, users, pem: tls && pem });
    const authorizing = acls ? authorizer : '';
    await writeFile(settings, properties(controllerPort, join(folder, 'data')) + listening + authorizing, {
      mode: 0o600,
    });
    // 16 bytes. The first is 0, so that the text does not begin with a dash, which would be read as an option.
    const clusterId = Buffer.concat([Buffer.alloc(1), randomBytes(15)]).toString('base64url');
    const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', settings, ...users.flatMap(scramUser)];
    await run('java', [...javaOptions, ...quiet, '-cp', jars, ...format]);
    await start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    brokers: `127.0.0.1:${port}`,
    tlsBrokers: tls ? `127.0.0.1:${tlsPort}` : '',
    dataFolder: join(folder, 'data'),
    saslBrokers: signedIn && tls ? `127.0.0.1:${saslPort}` : '',
    adminBrokers: acls ? `127.0.0.1:${ownPort}` : '',
    get pid() {
      return server.pid;
    },
    kill: () => server.end('SIGKILL'),
    start,
    stop: async () => {
      // Its data is removed too, so there is nothing to shut down cleanly.
      await server.end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// A client without credentials, on the broker's own listener, has all rights.
const authorizer = `
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`;

const properties = (controllerPort: number, dataFolder: string) => `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
controller.listener.names=CONTROLLER
log.dirs=${dataFolder}
auto.create.topics.enable=false
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=200
log.cleaner.dedupe.buffer.size=8388608
# After a crash a broker waits for its own old session to end.
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
num.io.threads=2
num.network.threads=2
background.threads=2
num.recovery.threads.per.data.dir=1
`;
