import { expect, it } from 'vitest';
import { byTopic } from '../../../schemas/events/records.ts';
import { loadSettings, misspeltSettings, SettingsError } from '../../../services/settings/settings.ts';
import { type SettingName, settingRules } from '../../../services/settings/settings-schema.ts';

/** The lines of a refusal; none where the settings are taken. */
function refusal(env: Record<string, string>): readonly string[] {
  try {
    loadSettings(env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.lines;
    throw error;
  }
}

const here = import.meta.filename;
const longer = (max: number) => 'x'.repeat(max + 1);
/** The service's own paths, which a base path must not overlap. */
const ownPaths = ['docs', 'calendar', 'healthz', 'readyz', 'metrics', 'oauth', '.well-known'];

/** Wrong values of every setting that can be wrong by itself. */
const wrong: Partial<Record<SettingName, string[]>> = {
  HOST: ['[::1]', '127.0.0.1:80', 'a b', '-x', longer(253)],
  PORT: ['0', '65536', '-1', '80.5', 'http', '1e3', '０'],
  BASE_URL: [
    ...['/api', 'ftp://a/api', 'http://'],
    ...['?x=1', '#x', '#', 'a//b', ':x', ...ownPaths].map((end) => `https://a/${end}`),
  ],
  TRUST_PROXY: ['true', '1', 'proxy', '10.0.0.0/0', '10.0.0.0/33', '::/129', '10.0.0.1/8/8', '::1,', 'fe80::1%eth0'],
  KAFKA_BROKERS: ['localhost', 'a:1,', 'a:1,a:1', 'a:70000', 'kafka://a:1', 'a :1'],
  KAFKA_TOPIC_PREFIX: ['a b', 'x/', 'é', longer(200)],
  KAFKA_PARTITIONER: ['murmur', 'crc32,', 'rejected:crc32', 'rides:crc32,rides:murmur2', 'crc32:rides'],
  KAFKA_SSL: ['yes', '1', 'on'],
  KAFKA_SASL_PASSWORD: ['change-me'],
  KAFKA_SASL_MECHANISM: ['gssapi', 'scram'],
  KAFKA_GROUP: ['a b', longer(200)],
  SCHEMA_REGISTRY_URL: ['a:8081', 'http://a?x', 'redis://a'],
  REDIS_URL: [
    'localhost:6379',
    'http://a',
    ...['/x', '/100000', '?db=1', ',', '/1,b/x'].map((end) => `redis://a${end}`),
  ],
  REDIS_CLUSTER: ['2', 'yes', 'on'],
  REDIS_KEY_PREFIX: ['a{b}', 'a b', longer(100)],
  AUTH_REDIS_URL: ['localhost'],
  ARCHIVE_DIR: ['/no/such/folder', import.meta.filename],
  WRITER_SCHEMAS: ['/no/such/folder', import.meta.filename],
  SIGN_IN_ISSUER: ['http://accounts.example.org', 'accounts.example.org', 'https://a/?x', 'https://u@a/'],
  SIGN_IN_CLIENT_SECRET: ['change-me'],
  SIGN_IN: ['pik', 'on', 'picker'],
  OAUTH_CLIENTS: ['/no/such/file'],
  OAUTH_REGISTRATION: ['yes', 'true'],
  OAUTH_CLIENT_METADATA: ['maybe', 'false'],
  OAUTH_KEYS: ['/no/such/file', import.meta.dirname],
  OAUTH_COOKIE_KEYS: [longer(30), `${longer(31)},short`],
  METRICS_PORT: ['0', '65536', 'metrics', '9090.5'],
  DRAIN_SECONDS: ['-1', '1.5', 'ten', '3601'],
  CACHE_SECONDS: ['-1', '1.5', 'ten', '31536001'],
  NOW: ['2015-06-13', '2015-06-13T19:00:00', '2015-02-30T19:00:00Z', '0000-01-01T00:00:00Z'],
  CALENDAR_PAGE: ['yes', 'true'],
  LOG_LEVEL: ['verbose', 'INFO'],
};

/** Only their absence can be wrong. */
const anyText: SettingName[] = ['KAFKA_SASL_USERNAME', 'DATA_DIR', 'SIGN_IN_CLIENT_ID'];

it('settings have defaults that need nothing else', () => {
  expect(loadSettings({})).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    baseUrl: 'http://127.0.0.1:8080/api',
    topicPrefix: 'ride-calendar.',
    partitioners: byTopic(() => 'murmur2'),
    dataDir: '.ride-calendar',
    oauth: { registration: true, clientMetadata: true },
    drainSeconds: 0,
    cacheSeconds: 0,
    calendarPage: true,
    logLevel: 'info',
  });
});

it.each(Object.entries(wrong).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
  '%s refuses %j in one line that names it and what is wanted',
  (name, value) => {
    const lines = refusal({ [name]: value }).filter((line) => line.includes('want'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`^Cannot use setting ${name}: got .+, want .+`));
  },
);

it('settings serve the calendar page beside real services only where asked, and to this machine only', () => {
  const real = { REDIS_URL: 'redis://127.0.0.1:6379' };
  expect(loadSettings(real).calendarPage).toBe(false);
  expect(loadSettings({ ...real, CALENDAR_PAGE: 'on' }).calendarPage).toBe(true);
  expect(loadSettings({ CALENDAR_PAGE: 'off' }).calendarPage).toBe(false);
  expect(refusal({ HOST: '0.0.0.0', CALENDAR_PAGE: 'on' })).toEqual([expect.stringContaining('CALENDAR_PAGE')]);
});

it('settings are each tested with a wrong value, but for those that take any text', () => {
  expect(Object.keys(wrong).concat(anyText).sort()).toEqual(Object.keys(settingRules).sort());
});

it.each([
  ['BASE_URL', 'http://x/api?x=1', 'got "http://x/api", which has a query, want'],
  ['BASE_URL', 'http://x/oauth/api', 'got "http://x/oauth/api", which has a path that is the service’s own, want'],
  ['REDIS_URL', 'redis://u:change-me@x', 'got "redis://***@x", which has the example’s password, want'],
  ['REDIS_URL', 'redis://u:s3c%ret@x', 'got "redis://***@x", which has a % in its user or password that is no'],
])('%s names what is wrong with %j', (name, value, words) => {
  expect(refusal({ [name]: value })[0]).toContain(`Cannot use setting ${name}: ${words} `);
});

// docs/rules.md#one-partition-per-key
it('KAFKA_PARTITIONER names a partitioner for all topics, and others for some; those left out are as Java’s', () => {
  const of = (value: string) => loadSettings({ KAFKA_PARTITIONER: value });
  const all = { ...byTopic(() => 'crc32'), rides: 'other' };
  expect(of('rides:other, CRC32')).toMatchObject({ partitioners: all, givenPartitioners: all });
  const { partitioners, givenPartitioners } = of('developer-keys:crc32');
  expect(partitioners).toEqual({ ...byTopic(() => 'murmur2'), 'developer-keys': 'crc32' });
  expect(givenPartitioners).toEqual({ 'developer-keys': 'crc32' });
});

it('settings are named where a variable is one edit away from one, and only then', () => {
  const typos = { OAUTH_KEY: 'OAUTH_KEYS', REDIS_ULR: 'REDIS_URL', CACHE_SECOND5: 'CACHE_SECONDS' };
  const misspelt = { ...typos, REDIS_URL_FIEL: 'REDIS_URL_FILE', OAUTH_KEYS_FILE: 'OAUTH_KEYS' };
  const others = { REDIS_URL_FILE: '/x', PATH: '/bin', PORT: '1', HOSTNAME: 'h', REDIS_PORT: '1', DRAINSECONDS: '' };
  expect(misspeltSettings({ ...others, KAFKA_BROKR__: 'x', ...misspelt })).toEqual(
    Object.entries(misspelt).map(
      ([name, meant]) => `The variable ${name} is no setting, and does nothing: was ${meant} meant?`,
    ),
  );
});

const issuer = { SIGN_IN_ISSUER: 'https://id.example.org/', SIGN_IN_CLIENT_ID: 'c', SIGN_IN_CLIENT_SECRET: 's' };
const sasl = { KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' };

it.each<[Record<string, string>, RegExp]>([
  // Half-given.
  [{ SIGN_IN_ISSUER: 'https://a' }, /SIGN_IN_CLIENT_ID and SIGN_IN_CLIENT_SECRET are missing/],
  [{ SIGN_IN_CLIENT_ID: 'a', SIGN_IN_CLIENT_SECRET: 'b' }, /SIGN_IN_ISSUER is missing/],
  [{ KAFKA_BROKERS: 'a:1', KAFKA_SASL_USERNAME: 'a' }, /KAFKA_SASL_MECHANISM and KAFKA_SASL_PASSWORD are missing/],
  [sasl, /KAFKA_BROKERS is missing/],
  [{ KAFKA_SSL: 'true' }, /KAFKA_BROKERS is missing/],
  [{ REDIS_CLUSTER: 'true' }, /REDIS_URL is missing/],
  // Not beside each other.
  [{ KAFKA_BROKERS: 'a:1', ARCHIVE_DIR: import.meta.dirname }, /ARCHIVE_DIR: KAFKA_BROKERS is given too/],
  [{ METRICS_PORT: '8080' }, /METRICS_PORT: 8080 is PORT/],
  [{ REDIS_URL: 'redis://h/2', REDIS_CLUSTER: 'true' }, /REDIS_URL: it names a database, want none/],
  [{ AUTH_REDIS_URL: 'redis://a/2,b/2' }, /AUTH_REDIS_URL: it names a database, want none/],
  [{ REDIS_URL: 'redis://a,b' }, /REDIS_URL: it has several .* REDIS_CLUSTER=true$/],
  [{ ...issuer, BASE_URL: 'http://rides.example.org/api' }, /BASE_URL: it is http, and riders sign in/],
  [
    { SIGN_IN: 'pick', ...issuer, HOST: '0.0.0.0', KAFKA_BROKERS: 'a:1', REDIS_URL: 'redis://h' },
    /SIGN_IN: KAFKA_BROKERS is given too, REDIS_URL is given too, SIGN_IN_ISSUER is given too, HOST can be reached/,
  ],
  [{ SIGN_IN: 'pick', BASE_URL: 'https://rides.example.org/api' }, /SIGN_IN: BASE_URL is not on this machine/],
])('settings %j are refused in one line that says why', (env, words) => {
  expect(refusal(env)).toEqual([expect.stringMatching(words)]);
});

const several = (url: string) => ({ redis: { url, cluster: true }, authRedis: { url, cluster: true } });
const cluster = { REDIS_CLUSTER: 'true' };
// Of others than the embedded default: they drain for load balancers, and clients do not register themselves.
const open = { embedded: false, drainSeconds: 5, oauth: { registration: false, clientMetadata: false } };

const cookieKeys = ['a'.repeat(32), 'b'.repeat(32)];
const kafka = { KAFKA_BROKERS: 'a:9092, [::1]:9093' };
const ofKafka = { brokers: ['a:9092', '[::1]:9093'] };

it.each<[Record<string, string>, object]>([
  // Each in its place.
  [
    { HOST: '::', PORT: '9000', METRICS_PORT: '65535' },
    { host: '::', port: 9000, metricsPort: 65_535 },
  ],
  [{ BASE_URL: 'HTTPS://A.org:443/v/api/' }, { baseUrl: 'https://a.org/v/api', basePath: '/v/api' }],
  [{ TRUST_PROXY: '10.0.0.0/8, ::1' }, { trustProxy: ['10.0.0.0/8', '::1'] }],
  [
    { ...kafka, KAFKA_TOPIC_PREFIX: 'x.' },
    { topicPrefix: 'x.', kafka: { ...ofKafka, topicPrefix: 'x.' } },
  ],
  [kafka, { kafka: { ...ofKafka, ssl: false, sasl: null, group: 'ride-calendar', schemaRegistryUrl: null } }],
  [{ ...kafka, KAFKA_SSL: 'true', KAFKA_GROUP: 'g' }, { kafka: { ssl: true, group: 'g' } }],
  [{ ...kafka, ...sasl }, { kafka: { sasl: { mechanism: 'scram-sha-256', username: 'u', password: 'p' } } }],
  ...['plain', 'scram-sha-512'].map((mechanism): [Record<string, string>, object] => [
    { ...kafka, ...sasl, KAFKA_SASL_MECHANISM: mechanism },
    { kafka: { sasl: { mechanism } } },
  ]),
  [{ ...kafka, SCHEMA_REGISTRY_URL: 'http://u:p@r:8081/' }, { kafka: { schemaRegistryUrl: 'http://u:p@r:8081' } }],
  [
    { REDIS_URL: 'rediss://u:p@h:6380/12', REDIS_KEY_PREFIX: 'test:1:', AUTH_REDIS_URL: 'redis://auth' },
    {
      redis: { url: 'rediss://u:p@h:6380/12', cluster: false, keyPrefix: 'test:1:' },
      authRedis: { url: 'redis://auth', cluster: false, keyPrefix: 'test:1:' },
    },
  ],
  [{ REDIS_URL: 'redis://h' }, { redis: { url: 'redis://h', cluster: false, keyPrefix: 'ride-calendar:' } }],
  [issuer, { signIn: { issuer: 'https://id.example.org', clientId: 'c', clientSecret: 's' } }],
  [{ OAUTH_CLIENTS: here, OAUTH_KEYS: here }, { oauth: { clientsFile: here, keysFile: here } }],
  [{ ...kafka, OAUTH_REGISTRATION: 'on' }, { oauth: { registration: true, clientMetadata: false } }],
  [{ OAUTH_COOKIE_KEYS: cookieKeys.join(', ') }, { oauth: { cookieKeys } }],
  [
    { DATA_DIR: '/data', DRAIN_SECONDS: '3600', CACHE_SECONDS: '31536000' },
    { dataDir: '/data', drainSeconds: 3_600, cacheSeconds: 31_536_000 },
  ],
  [
    { NOW: '2015-06-13T12:00:00-07:00', LOG_LEVEL: 'silent' },
    { nowMs: Date.UTC(2015, 5, 13, 19), logLevel: 'silent' },
  ],
  // Together.
  [{ HOST: '0.0.0.0' }, open],
  [{ BASE_URL: 'https://rides.example.org/api' }, open],
  [{ KAFKA_BROKERS: 'a:1' }, open],
  [{ SIGN_IN: 'pick', ARCHIVE_DIR: import.meta.dirname }, { pickRiders: true }],
  [{ PORT: '', REDIS_URL: ' ', SIGN_IN_ISSUER: '' }, loadSettings({})],
  // Readers with developer keys alone, inside a network; and sign-in on this machine.
  [{ BASE_URL: 'http://rides.example.org/api' }, { signIn: null }],
  [{ ...issuer, BASE_URL: 'http://[::1]:80/api' }, { embedded: false }],
  // Grants are in REDIS_URL too, in the cluster that it is.
  [{ REDIS_URL: 'rediss://u:p@a:1, [::1]:3', ...cluster }, several('rediss://u:p@a:1,rediss://u:p@[::1]:3')],
  // A comma of a password separates nothing.
  [{ REDIS_URL: 'redis://:p,q@a:1,b:2', ...cluster }, several('redis://:p%2Cq@a:1,redis://:p%2Cq@b:2')],
  [{ AUTH_REDIS_URL: 'redis://a:1,b:2' }, { redis: null, authRedis: { cluster: true } }],
  // A cluster where it is one of the views' nodes.
  [{ REDIS_URL: 'redis://a:1,b:2', ...cluster, AUTH_REDIS_URL: 'redis://b:2' }, { authRedis: { cluster: true } }],
  [{ REDIS_URL: 'redis://a:1,b:2', ...cluster, AUTH_REDIS_URL: 'redis://c:3' }, { authRedis: { cluster: false } }],
])('settings %j are taken', (env, settings) => {
  expect(loadSettings(env)).toMatchObject(settings);
});

it('settings never show a secret in an error', () => {
  const secret = 'hunter2';
  const lines = refusal({
    REDIS_URL: `reds://:${secret}@h`,
    AUTH_REDIS_URL: `:${secret}@h`,
    SCHEMA_REGISTRY_URL: `ftp://u:${secret}@h`,
    BASE_URL: `https://u:p@${secret}@h/?token=${secret}`,
    SIGN_IN_ISSUER: `https://u:${secret}@h?${secret}`,
    SIGN_IN_CLIENT_SECRET: secret,
    OAUTH_COOKIE_KEYS: secret,
    KAFKA_SASL_PASSWORD: secret,
  });
  expect(lines.length).toBeGreaterThanOrEqual(8);
  expect(lines.join('\n')).not.toContain(secret);
  expect(lines.join('\n')).toContain('got "reds://***@h", want');
});
