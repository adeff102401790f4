import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { needCommand } from './debian-packages.ts';
import { freePorts } from './free-port.ts';
import { kafkaJars } from './kafka-jars.ts';
import { type LocalProcess, startLocalProcess } from './local-process.ts';
import { untilAnswers } from './until-answers.ts';

const run = promisify(execFile);

export interface KafkaBroker {
  /** `127.0.0.1:<port>`, as KAFKA_BROKERS takes it. */
  brokers: string;
  pid: number;
  /** SIGKILL, as a crash: port and data stay, for `start`. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  start(): Promise<void>;
  /** Stops it for good and removes its data. */
  stop(): Promise<void>;
}

export interface KafkaUser {
  username: string;
  password: string;
}

// A small heap and the fast compiler alone: it starts in half the time, and tests need no more.
const javaOptions = ['-Xms128m', '-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
const quiet = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];

/**
 * One Kafka broker (KRaft) on this machine, from Apache's jars, with its data in a temporary folder. With `user` its
 * clients have to sign in by SASL PLAIN.
 */
export async function startKafkaBroker({ user }: { user?: KafkaUser } = {}): Promise<KafkaBroker> {
  await needCommand('java', 'default-jre-headless');
  const jars = `${await kafkaJars()}/*`;
  const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-kafka-'));
  const [port, controllerPort] = (await freePorts(2)) as [number, number];
  const settings = join(folder, 'server.properties');
  let server: LocalProcess;
  const start = async () => {
    const args = [...javaOptions, ...quiet, '-cp', jars, 'kafka.Kafka', settings];
    server = await startLocalProcess('java', args, { cwd: folder, temporaryFolders: [folder] });
    await untilAnswers('the Kafka broker', port, server, 60_000);
  };
  try {
    await writeFile(settings, properties(port, controllerPort, join(folder, 'data')) + (user ? signIn(user) : ''));
    // 16 bytes; the first is 0, so that the text does not begin with a dash, which is taken for an option.
    const clusterId = Buffer.concat([Buffer.alloc(1), randomBytes(15)]).toString('base64url');
    const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', settings];
    await run('java', [...javaOptions, ...quiet, '-cp', jars, ...format]);
    await start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    brokers: `127.0.0.1:${port}`,
    get pid() {
      return server.pid;
    },
    kill: () => server.end('SIGKILL'),
    start,
    stop: async () => {
      // Its data goes too: nothing to shut down with care.
      await server.end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const properties = (port: number, controllerPort: number, dataFolder: string) => `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
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

// Of a setting given twice the last counts.
const signIn = ({ username, password }: KafkaUser) => `
listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="${username}" password="${password}" user_${username}="${password}";
`;
