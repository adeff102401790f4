import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freePort } from '../../../infra/local/free-port.ts';
import { runCli } from '../../../services/command-line.ts';
import { settingsOfThePast } from '../../../services/past/serve-past.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { quietIo } from '../../support/processes/heard.ts';
import { ran } from '../../support/processes/ran.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { portlandDirectory, portlandKeys } from '../../support/worlds/portland.ts';

const day = '/metros/portland/days/2015-06-13';
const asOf = ['--as-of', '2015-06-13T19:00:00Z'];
const dir = testFolder();

const env = (more: Record<string, string> = {}) => ({ DATA_DIR: join(dir, 'data'), ...more });
const replay = (...args: string[]) => ran(['replay', '--archive', portlandDirectory, ...args], env());

it('replay --get prints the answer alone to standard output, and what it is of beside it', async () => {
  const { code, out, err } = await replay(...asOf, '--get', day);
  expect({ code, nights: out.map((line) => JSON.parse(line).nights.length) }).toEqual({ code: 0, nights: [17] });
  const said = err.join('\n');
  expect(said).toMatch(/^As of 2015-06-13T19:00:00.000Z: \d+ records of the archive .*4 rejected ones left out\n/);
  expect(said).toContain('May not be exact: since when the archive has every record is not known');
});

it('replay --get prints several answers, of paths with the base path and whole URLs too, as lines of JSON, each with its path', async () => {
  const file = join(dir, 'paths');
  writeFileSync(file, '/me/nights r0020\n/rides/nosuch\nopenapi.json\n');
  const paths = ['--get', `/api${day}`, 'https://rides.example.org/v/rides/pp15r4935', '--from-file', file];
  const words = ['replay', '--archive', portlandDirectory, ...asOf, ...paths];
  const { code, out } = await ran(words, env({ BASE_URL: 'https://rides.example.org/v' }));
  const one = await replay(...asOf, '--get', '/me/nights', '--rider', 'r0020');
  const lines = out.map((line) => JSON.parse(line));
  expect([code, ...lines.map(({ path, rider, status }) => [path, rider, status])]).toEqual([
    1,
    [day, null, 200],
    ['/rides/pp15r4935', null, 200],
    ['/me/nights', 'r0020', 200],
    ['/rides/nosuch', null, 404],
    ['/openapi.json', null, 200],
  ]);
  const two = (await replay(...asOf, '--get', day, '/rides/nosuch')).out;
  expect(two.map((line) => JSON.parse(line).path)).toEqual([day, '/rides/nosuch']);
  expect(out[2]).toContain(`"answer":${one.out[0]}}`);
});

it('replay --get has the answer that README shows', async () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const [, path, shown] = /'http:\/\/127\.0\.0\.1:8080\/api(\/[^']+)'.*?^```json\n(.*?)^```/ms.exec(readme)!;
  expect(JSON.parse((await replay(...asOf, '--get', path!)).out[0]!)).toEqual(JSON.parse(shown!));
});

it('replay --get answers 1 for a rider who was not there, also to --serve, and for any other answer than 200', async () => {
  const nobody = await replay(...asOf, '--get', '/me/nights', '--rider', 'nosuch');
  expect(nobody).toMatchObject({ code: 1, out: [] });
  expect(nobody.err.at(-1)).toBe('Cannot answer /me/nights: there was no such rider as nosuch then');
  const serve = ['replay', '--archive', portlandDirectory, ...asOf, '--serve', '--rider', 'nosuch'];
  const served = await ran(serve, env({ PORT: String(await freePort()) }));
  const why = expect.stringMatching(/^Cannot serve for --rider nosuch: there/);
  expect([served.code, served.err.at(-1)]).toEqual([1, why]);
  const noRide = await replay(...asOf, '--get', '/rides/nosuch');
  expect(noRide).toMatchObject({ code: 1, out: [expect.stringContaining('"error":"not_found"')] });
  expect(noRide.err.at(-1)).toBe('Answered /rides/nosuch with 404');
});

it('replay --get takes the exact records of a file of offsets, if the archive has them', async () => {
  const by = ['--by', 'changed_at'];
  const at = JSON.parse((await replay(...asOf, ...by, '--json')).out[0]!);
  const replayed = (offsets: object, ...more: string[]) => {
    writeFileSync(join(dir, 'at.json'), JSON.stringify({ ...at, offsets: { ...at.offsets, ...offsets } }));
    return replay('--offsets', join(dir, 'at.json'), ...more);
  };
  const again = await replayed({}, '--get', day, '--json');
  const first = await replay(...asOf, ...by, '--get', day, '--json');
  expect(again.out).toEqual(first.out);
  expect(JSON.parse(first.out[0]!)).toMatchObject({ status: 200, by: 'changed_at', answer: { day: '2015-06-13' } });
  const beyond = await replayed({ metros: [99_999] });
  expect(beyond.code).toBe(2);
  expect(beyond.err[0]).toMatch(/--offsets wants metros\/0 up to offset 99998, and the archive .* has it up to \d+$/);
  expect((await replayed({ nights: [1] })).err[0]).toContain('--offsets is of 1 partition of nights');
});

it('replay --get goes by upstream’s time, and stands its clock elsewhere, where it is told to', async () => {
  const how = ['--by', 'changed_at', '--now', '2015-06-15T00:00:00Z'];
  const words = await replay(...asOf, ...how);
  expect(words.out[0]).toMatch(
    /^As of 2015-06-13T19:00:00.000Z by changed_at, the clock at 2015-06-15T00:00:00.000Z: /,
  );
  expect(words.out).toContain('  metros          0: 3');
  const { out } = await replay(...asOf, '--get', day, ...how, '--json');
  const { by, now, answer } = JSON.parse(out[0]!);
  expect({ by, now }).toEqual({ by: 'changed_at', now: '2015-06-15T00:00:00.000Z' });
  expect(answer.nights.every(({ past }: { past: boolean }) => past)).toBe(true);
});

it('replay --serve takes HOST, PORT and the instant, and nothing of the live service: not its Redis, its provider or its ports', () => {
  const servers = { KAFKA_BROKERS: 'a:1', REDIS_URL: 'redis://a', AUTH_REDIS_URL: 'redis://b', METRICS_PORT: '9090' };
  const provider = { SIGN_IN_ISSUER: 'https://id.example.org', SIGN_IN_CLIENT_ID: 'c', SIGN_IN_CLIENT_SECRET: 's' };
  const files = { OAUTH_KEYS: import.meta.filename, OAUTH_CLIENTS: import.meta.filename };
  const of = { PORT: '8090', BASE_URL: 'https://rides.example.org/v', TRUST_PROXY: '10.0.0.1', DRAIN_SECONDS: '9' };
  const live = loadSettings({ ...servers, ...provider, ...files, ...of, OAUTH_COOKIE_KEYS: 'x'.repeat(32) });
  const own = loadSettings({ PORT: '8090', NOW: asOf[1]!, OAUTH_CLIENT_METADATA: 'off', CALENDAR_PAGE: 'off' });
  expect(settingsOfThePast(live, own.nowMs!)).toEqual(own);
});

it('replay --serve is the whole API as it was, until it is told to end', async () => {
  const port = await freePort();
  const stop = new AbortController();
  const said = Promise.withResolvers<string>();
  const args = ['replay', '--archive', portlandDirectory, ...asOf, '--serve', '--rider', 'r0020', '--json'];
  const io = { ...quietIo, out: said.resolve, signal: stop.signal };
  const ended = runCli(args, io, env({ PORT: String(port), LOG_LEVEL: 'silent' }));
  const { base_url: base, docs, developer_key, token } = JSON.parse(await said.promise);
  const get = (path: string, headers: Record<string, string>) => fetch(base + path, { headers });
  const { out } = await replay(...asOf, '--get', day);
  for (const key of [developer_key, portlandKeys.live]) {
    expect(await (await get(day, { 'X-Api-Key': key })).text()).toBe(out[0]);
  }
  expect((await get(day, { 'X-Api-Key': portlandKeys.deleted })).status).toBe(401);
  const mine = await replay(...asOf, '--get', '/me/nights', '--rider', 'r0020');
  expect(await (await get('/me/nights', { Authorization: `Bearer ${token}` })).text()).toBe(mine.out[0]);
  expect((await fetch(docs)).status).toBe(200);
  stop.abort();
  expect(await ended).toBe(0);
});
