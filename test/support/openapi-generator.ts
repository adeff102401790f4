import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { needCommand } from '../../infra/local/debian-packages.ts';

// 7.17.0 sends dates in queries with a time (OpenAPITools/openapi-generator#22519).
const version = '7.16.0';
const cache = path.resolve(import.meta.dirname, '../../.cache/openapi-generator');
const jarName = `openapi-generator-cli-${version}.jar`;

const run = promisify(execFile);

/** OpenAPI Generator's jar, fetched by Maven the first time (30 MB). Two processes may do it at once. */
async function generatorJar(): Promise<string> {
  const jar = path.join(cache, jarName);
  if (existsSync(jar)) return jar;
  await needCommand('mvn', 'maven', 'install Maven, which fetches OpenAPI Generator');
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(path.join(cache, 'fetching-'));
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy';
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${version}`;
  await run('mvn', ['-q', '-B', goal, artifact, `-DoutputDirectory=${work}`], { timeout: 300_000 });
  await rename(path.join(work, jarName), jar);
  await rm(work, { recursive: true, force: true });
  return jar;
}

/** Makes a client of an OpenAPI document with one of the generator's languages, in a folder. */
export async function generateClient(language: string, document: string, folder: string): Promise<void> {
  await needCommand('java', 'default-jre-headless', 'install Java, which runs OpenAPI Generator');
  const args = ['-jar', await generatorJar(), 'generate', '-g', language, '-i', document, '-o', folder];
  await run('java', args, { timeout: 120_000, maxBuffer: 1 << 24 });
}
