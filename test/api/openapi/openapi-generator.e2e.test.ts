import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { startHttpService } from '../../support/processes/http-service.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** A client that OpenAPI Generator makes of the document, used on a running service. */

const run = promisify(execFile);
const cache = path.resolve(import.meta.dirname, '../../../.cache');

// docs/rules.md#openapi-document, #openapi-lists, #openapi-security
it("OpenAPI Generator's client reads filtered days with a key, and a rider's friends with a token", async () => {
  const service = await startHttpService();
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(path.join(cache, 'generated-client-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const document = path.join(folder, 'openapi.json');
  await writeFile(document, JSON.stringify(openApiDocument(`http://127.0.0.1:${service.port}${service.basePath}`)));
  await needProgram('java', 'default-jre-headless', 'install Java, which runs OpenAPI Generator');
  // A program of seconds is done sooner without the compiler and collector of one of hours.
  const brief = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-jar', await generatorJar(), 'generate'];
  const client = ['-g', 'typescript-fetch', '-i', document, '-o', path.join(folder, 'client')];
  await run('java', [...brief, ...client], { timeout: 120_000, maxBuffer: 1 << 24 });

  const { CalendarApi, RiderApi, Configuration } = await import(path.join(folder, 'client/index.ts'));
  const calendar = new CalendarApi(new Configuration({ apiKey: smallWorld.liveKey }));
  const found = await calendar.getDay({
    metro: 'pdx',
    day: new Date('2015-06-13'),
    far: new Set(['under_5', '5_to_10']),
    who: new Set(['21+ Only']),
  });
  expect(found.nights.map((night: { title: string }) => night.title)).toEqual(['Loop 🚲', 'Café ride']);

  // Of OAuth 2.0 this generator sends what it is given, the scheme included.
  const riders = new RiderApi(new Configuration({ accessToken: `Bearer ${smallWorld.reader}` }));
  const range = { metro: 'pdx', from: new Date('2015-06-01'), to: new Date('2015-06-30') };
  const { nights } = await riders.getFriends({ ...range, closeFriendsOnly: true });
  expect(nights[0].friends).toMatchObject([
    { handle: 'h-cy', close: true, following: false, flagged: true },
    { handle: 'h-bo', close: false, following: true, flagged: false },
  ]);
});

/** OpenAPI Generator's jar, fetched by Maven the first time (30 MB). Two processes may do it at once. */
async function generatorJar(): Promise<string> {
  // 7.17.0 sends dates in queries with a time (OpenAPITools/openapi-generator#22519).
  const jarName = 'openapi-generator-cli-7.16.0.jar';
  const jar = path.join(cache, 'openapi-generator', jarName);
  if (existsSync(jar)) return jar;
  await needProgram('mvn', 'maven', 'install Maven, which fetches OpenAPI Generator');
  await mkdir(path.dirname(jar), { recursive: true });
  const work = await mkdtemp(path.join(path.dirname(jar), 'fetching-'));
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy';
  const artifact = '-Dartifact=org.openapitools:openapi-generator-cli:7.16.0';
  await run('mvn', ['-q', '-B', goal, artifact, `-DoutputDirectory=${work}`], { timeout: 300_000 });
  await rename(path.join(work, jarName), jar);
  await rm(work, { recursive: true, force: true });
  return jar;
}
