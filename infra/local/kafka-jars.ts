import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { needProgram } from './debian-packages.ts';

const run = promisify(execFile);

export const kafkaVersion = '4.1.1';
const cacheFolder = join(import.meta.dirname, '..', '..', '.cache', 'kafka');

/**
 * The folder with a Kafka broker's jars. Maven fetches them the first time (43 MB, some seconds). If two processes do
 * so at once, each fills its own folder, and the first to rename its folder wins.
 */
export async function kafkaJars(): Promise<string> {
  const folder = join(cacheFolder, kafkaVersion);
  if (existsSync(folder)) return folder;
  await needProgram('java', 'default-jre-headless');
  await needProgram('mvn', 'maven');
  await mkdir(cacheFolder, { recursive: true });
  const work = await mkdtemp(join(cacheFolder, 'resolving-'));
  try {
    await writeFile(join(work, 'pom.xml'), pom);
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies';
    const args = ['-q', '-B', '-f', join(work, 'pom.xml'), goal, `-DoutputDirectory=${join(work, 'jars')}`];
    await run('mvn', args, { timeout: 300_000, maxBuffer: 1 << 24 }).catch((cause) => {
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
