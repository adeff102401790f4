import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { needProgram } from './debian-packages.ts';
import { freePort } from './free-port.ts';
import { type LocalServer, launch, startLocalServer } from './local-process.ts';

const run = promisify(execFile);

export const kafkaVersion = '4.1.1';

export interface KafkaBroker extends LocalServer {
  /** `127.0.0.1:<port>`, as KAFKA_BROKERS takes it. */
  brokers: string;
  /** Holds a folder of log files for each partition, `<topic>-<partition>`. */
  dataFolder: string;
}

interface KafkaListener {
  name: string;
  protocol: string;
  /** `host:port` */
  at: string;
  /** What clients are told, if that is another address. */
  advertised?: string;
}

/** Where a broker listens, and whom it lets in. */
interface KafkaListening {
  /** For clients. The broker connects to itself by the last one, which must be PLAINTEXT. */
  listeners: KafkaListener[];
  /** Further settings, as lines of server.properties. */
  settings?: string;
  /** Options for formatting the broker's folder. */
  format?: string[];
}

// A small heap and only the fast compiler: Java starts in half the time, and tests need no more.
const quickJava = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData'];
const logging = '-Dorg.slf4j.simpleLogger';
const javaOptions = [
  ...['-Xms128m', '-Xmx512m', ...quickJava],
  ...[`${logging}.defaultLogLevel=warn`, `${logging}.log.kafka.server.KafkaRaftServer=info`],
];
const up = 'Kafka Server started';

const plain = async (port: number): Promise<KafkaListening> => ({
  listeners: [{ name: 'PLAINTEXT', protocol: 'PLAINTEXT', at: `127.0.0.1:${port}` }],
});

/**
 * A Kafka broker (KRaft) on this machine, from Apache's jars, with its data in a temporary folder. By default it lets everybody
 * in at its port.
 */
export async function startKafkaBroker(
  listening: (port: number, folder: string) => Promise<KafkaListening> = plain,
): Promise<KafkaBroker> {
  await needProgram('java', 'default-jre-headless');
  const jars = await kafkaJars();
  const port = await freePort();
  const controllerPort = await freePort();
  const server = await startLocalServer('kafka', async (folder) => {
    const file = join(folder, 'server.properties');
    const { listeners, settings = '', format = [] } = await listening(port, folder);
    const own = { ...brokerSettings(`127.0.0.1:${controllerPort}`, listeners), 'log.dirs': dataIn(folder) };
    const lines = Object.entries(own).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(file, lines.join('') + settings, { mode: 0o600 });
    // Any 16 bytes: the broker is alone.
    const clusterId = Buffer.from('ride-calendar-00').toString('base64url');
    const formatting = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', file, ...format];
    await run('java', [...keptClasses(jars), ...javaOptions, '-cp', `${jars}/*`, ...formatting]);
    // Java unpacks the libraries of codecs into its temporary folder, and removes none when it is killed.
    const args = [...javaOptions, `-Djava.io.tmpdir=${folder}`, '-cp', `${jars}/*`, 'kafka.Kafka', file];
    const classes = await loadedClasses(jars, args, folder);
    return { command: 'java', args: [...classes, ...args], up };
  });
  return Object.assign(server, { brokers: `127.0.0.1:${port}`, dataFolder: dataIn(server.folder) });
}

const dataIn = (folder: string): string => join(folder, 'data');

/** Java's option for Kafka's classes as the first broker loaded them, kept beside the jars: brokers start in half the time. */
async function loadedClasses(jars: string, args: readonly string[], folder: string): Promise<string[]> {
  const file = classesIn(jars);
  if (!existsSync(file)) {
    const own = `${file}.${process.pid}`;
    const first = await launch('kafka', 'java', [`-XX:ArchiveClassesAtExit=${own}`, ...args], up, folder);
    await first.end('SIGTERM');
    // It may have been too slow to write them.
    await rename(own, file).catch(() => undefined);
  }
  return keptClasses(jars);
}

const classesIn = (jars: string): string => join(jars, 'classes.jsa');
const keptClasses = (jars: string): string[] =>
  existsSync(classesIn(jars)) ? [`-XX:SharedArchiveFile=${classesIn(jars)}`] : [];

/** Settings of a broker that is alone, by Kafka's names. */
export const brokerSettings = (controller: string, listeners: readonly KafkaListener[]): Record<string, string> => ({
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.quorum.voters': `1@${controller}`,
  'controller.listener.names': 'CONTROLLER',
  listeners: [...listeners.map(({ name, at }) => `${name}://${at}`), `CONTROLLER://${controller}`].join(),
  'advertised.listeners': listeners.map(({ name, at, advertised = at }) => `${name}://${advertised}`).join(),
  'listener.security.protocol.map': `${listeners.map(({ name, protocol }) => `${name}:${protocol}`)},CONTROLLER:PLAINTEXT`,
  'inter.broker.listener.name': listeners.at(-1)!.name,
  'auto.create.topics.enable': 'false',
  'num.partitions': '1',
  'offsets.topic.num.partitions': '1',
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.num.partitions': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'group.initial.rebalance.delay.ms': '0',
  'log.cleaner.backoff.ms': '200',
  'log.cleaner.dedupe.buffer.size': '8388608',
  // After a crash a broker waits for its own old session to end.
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '500',
  'num.io.threads': '2',
  'num.network.threads': '2',
  'background.threads': '2',
  'num.recovery.threads.per.data.dir': '1',
});

const cacheFolder = join(import.meta.dirname, '..', '..', '.cache', 'kafka');

/** The folder with the broker's jars, by Maven the first time (43 MB). Of two processes the first to rename wins. */
async function kafkaJars(): Promise<string> {
  const folder = join(cacheFolder, kafkaVersion);
  if (existsSync(folder)) return folder;
  await needProgram('mvn', 'maven');
  await mkdir(cacheFolder, { recursive: true });
  const work = await mkdtemp(join(cacheFolder, 'resolving-'));
  try {
    await writeFile(join(work, 'pom.xml'), pom);
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies';
    const args = ['-q', '-B', '-f', join(work, 'pom.xml'), goal, `-DoutputDirectory=${join(work, 'jars')}`];
    const env = { MAVEN_OPTS: quickJava.join(' '), ...process.env };
    await run('mvn', args, { env, timeout: 300_000, maxBuffer: 1 << 24 }).catch((cause) => {
      const fix = 'is the Maven repository reachable? Or set KAFKA_BROKERS';
      throw new Error(`Cannot fetch the Kafka broker by Maven: ${fix}`, { cause });
    });
    await rename(join(work, 'jars'), folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>kafka-broker</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${kafkaVersion}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;
