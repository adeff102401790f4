import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { needCommand } from './debian-packages.ts';
import { freePort, freePorts } from './free-port.ts';
import { kafkaJars } from './kafka-jars.ts';
import { type LocalServer, startLocalProcess, startLocalServer, untilAnswers } from './local-process.ts';

const run = promisify(execFile);

interface KafkaUser {
  username: string;
  password: string;
}

export interface KafkaBroker extends LocalServer {
  /** `127.0.0.1:<port>`, as KAFKA_BROKERS takes it. */
  brokers: string;
  /** The same with TLS only, if started with a certificate. */
  tlsBrokers: string;
  /** The same with credentials only, if started with users and a certificate. */
  saslBrokers: string;
  /** The same without credentials, with all rights, if started with `acls`. */
  adminBrokers: string;
  /** Holds a folder of log files for each partition, `<topic>-<partition>`. */
  dataFolder: string;
}

// A small heap and only the fast compiler: the broker starts in half the time, and tests need no more.
const javaOptions = ['-Xms128m', '-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
const quiet = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];

interface KafkaBrokerOptions {
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
  return startLocalServer('kafka', async (folder) => {
    const [pem, dataFolder, settings] = ['server.pem', 'data', 'server.properties'].map((name) => join(folder, name));
    if (tls) await writeFile(pem!, tls.key + tls.cert, { mode: 0o600 });
    const listening = listenerSettings(listeners, { controllerPort, users, pem: tls && pem });
    const text = properties(controllerPort, dataFolder!) + listening + (acls ? authorizer : '');
    await writeFile(settings!, text, { mode: 0o600 });
    // 16 bytes. The first is 0, so that the text does not begin with a dash, which would be read as an option.
    const clusterId = Buffer.concat([Buffer.alloc(1), randomBytes(15)]).toString('base64url');
    const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', settings!, ...users.flatMap(scramUser)];
    await run('java', [...javaOptions, ...quiet, '-cp', jars, ...format]);
    const launch = async () => {
      // Java unpacks the libraries of codecs into its temporary folder, and removes none when it is killed.
      const temporary = `-Djava.io.tmpdir=${folder}`;
      const args = [...javaOptions, ...quiet, temporary, '-cp', jars, 'kafka.Kafka', settings!];
      const server = await startLocalProcess('java', args, { cwd: folder, temporaryFolders: [folder] });
      await untilAnswers('the Kafka broker', port, server, 60_000);
      return server;
    };
    const about = {
      brokers: `127.0.0.1:${port}`,
      tlsBrokers: tls ? `127.0.0.1:${tlsPort}` : '',
      saslBrokers: signedIn && tls ? `127.0.0.1:${saslPort}` : '',
      adminBrokers: acls ? `127.0.0.1:${ownPort}` : '',
      dataFolder: dataFolder!,
    };
    return { launch, about };
  });
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

/** Where one of our brokers listens on 127.0.0.1, and what it requires of clients. */
interface KafkaListener {
  name: string;
  port: number;
  sasl: boolean;
  tls: boolean;
}

interface ListenerOptions {
  controllerPort: number;
  /** Who may sign in on SASL listeners. */
  users: readonly KafkaUser[];
  /** A file with key and certificate. */
  pem: string | undefined;
}

/** Listeners as broker settings. The broker connects to itself by the last one. */
function listenerSettings(listeners: readonly KafkaListener[], options: ListenerOptions): string {
  const { controllerPort, users, pem } = options;
  const addresses = listeners.map(({ name, port }) => `${name}://127.0.0.1:${port}`);
  const protocols = listeners.map(
    ({ name, sasl, tls }) => `${name}:${sasl ? 'SASL_' : ''}${tls ? 'SSL' : 'PLAINTEXT'}`,
  );
  return `
listeners=${addresses.join(',')},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=${addresses.join(',')}
listener.security.protocol.map=${protocols.join(',')},CONTROLLER:PLAINTEXT
inter.broker.listener.name=${listeners.at(-1)!.name}
${pem ? `ssl.keystore.type=PEM\nssl.keystore.location=${pem}` : ''}
${listeners.flatMap(({ name, sasl }) => (sasl ? [signIn(name.toLowerCase(), users)] : [])).join('')}`;
}

/** The option for formatting a broker's folder that adds a SCRAM user. */
const scramUser = ({ username, password }: KafkaUser): string[] =>
  [256, 512].flatMap((bits) => ['--add-scram', `SCRAM-SHA-${bits}=[name=${username},password=${password}]`]);

const signIn = (listener: string, users: readonly KafkaUser[]): string => `
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.${listener}.plain.sasl.jaas.config=${module}.plain.PlainLoginModule required ${users.map(plainUser).join(' ')};
listener.name.${listener}.scram-sha-256.sasl.jaas.config=${module}.scram.ScramLoginModule required;
listener.name.${listener}.scram-sha-512.sasl.jaas.config=${module}.scram.ScramLoginModule required;
`;

const module = 'org.apache.kafka.common.security';

const plainUser = ({ username, password }: KafkaUser): string => `user_${username}="${password}"`;
