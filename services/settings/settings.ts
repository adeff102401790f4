import { isLoopback } from '../../api/messages/service-url.ts';
import { defaultPartitioners, type Partitioners } from '../../schemas/events/partitioner.ts';
import { defaultTopicPrefix } from '../../schemas/events/records.ts';
import { fileSettingOf, isGiven, withSecretFiles } from './secret-files.ts';
import {
  type Fault,
  type SettingName,
  type SettingRule,
  type SettingValue,
  secretSettings,
  settingRules,
} from './settings-schema.ts';

/** The settings, checked. Null: not given, and there is no default. */
export type Settings = ReturnType<typeof settingsOf>;
export type KafkaSettings = NonNullable<Settings['kafka']>;

/** All settings that are wrong or incomplete, one line each. */
export class SettingsError extends Error {
  override name = 'SettingsError';
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.lines = lines;
  }
}

type Env = Readonly<Record<string, string | undefined>>;
type Given = { [N in SettingName]?: SettingValue<N> };

/** Reads every setting. Empty text counts as not given. Throws SettingsError, which names each wrong one. */
export function loadSettings(env: Env): Settings {
  const errors: string[] = [];
  const given = readGiven(env, withSecretFiles(env, errors), errors);
  checkTogether((name) => isGiven(env, name), given, errors);
  if (errors.length > 0) throw new SettingsError(errors);
  return settingsOf(given);
}

function readGiven(env: Env, texts: Env, errors: string[]): Given {
  const given: Record<string, unknown> = {};
  for (const [name, { read, want, show }] of Object.entries<SettingRule<unknown>>(settingRules)) {
    const text = texts[name]?.trim();
    if (!text) continue;
    const result = read.safeParse(text);
    if (result.success) given[name] = result.data;
    else {
      const [fault] = result.error.issues.flatMap((issue) =>
        issue.code === 'custom' && issue.params ? [issue.params as Fault] : [],
      );
      const got = `got ${JSON.stringify(show ? show(text) : text)}${fault ? `, which ${fault.which}` : ''}`;
      errors.push(`Cannot use setting ${env[name]?.trim() ? name : fileSettingOf(name)}: ${got}, want ${want}`);
    }
  }
  return given as Given;
}

/** A line for each variable whose name is one edit away from a setting's, such as METRIC_PORT, or names a file for one that takes none. */
export function misspeltSettings(env: Env): string[] {
  const known = [...Object.keys(settingRules), ...secretSettings.map(fileSettingOf)];
  const names = known.map((name) => ({ name, near: new Set([...nearlyAll(name), fileSettingOf(name)]) }));
  return Object.keys(env).flatMap((given) => {
    if (!env[given] || known.includes(given)) return [];
    const meant = names.find(({ near }) => nearlyAll(given).some((text) => near.has(text)));
    return meant ? [`The variable ${given} is no setting, and does nothing: was ${meant.name} meant?`] : [];
  });
}

/** A name, and the name without each of its characters. Names that differ by one edit have one of these in common. */
const nearlyAll = (name: string): string[] => [name, ...[...name].map((_, i) => name.slice(0, i) + name.slice(i + 1))];

/** Checks settings that need or exclude others. A wrong value counts as given: it has its own line already. */
function checkTogether(has: (name: SettingName) => boolean, given: Given, errors: string[]): void {
  const needs = (name: SettingName, others: SettingName[], why: string): void => {
    const missing = others.filter((other) => !has(other));
    if (has(name) && missing.length > 0)
      errors.push(
        `Cannot use setting ${name}: ${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing; ${why}`,
      );
  };
  const together = (names: SettingName[], why: string): void => {
    const missing = names.filter((name) => !has(name));
    const present = names.filter(has);
    if (present.length > 0 && missing.length > 0) needs(present[0]!, missing, why);
  };
  const sasl: SettingName[] = ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'];
  together(sasl, 'give all of KAFKA_SASL_* or none');
  needs(sasl.find(has) ?? sasl[0]!, ['KAFKA_BROKERS'], 'give the brokers to sign in to');
  // `false` needs nothing.
  if (given.KAFKA_SSL) needs('KAFKA_SSL', ['KAFKA_BROKERS'], 'give the brokers to connect to');
  if (given.REDIS_CLUSTER) needs('REDIS_CLUSTER', ['REDIS_URL'], 'give some nodes of the cluster');
  together(['SIGN_IN_ISSUER', 'SIGN_IN_CLIENT_ID', 'SIGN_IN_CLIENT_SECRET'], 'give all three of SIGN_IN_* or none');
  if (has('KAFKA_BROKERS') && has('ARCHIVE_DIR'))
    errors.push('Cannot use setting ARCHIVE_DIR: KAFKA_BROKERS is given too; give one event log, not two');
  if (given.METRICS_PORT !== undefined && given.METRICS_PORT === portOf(given))
    errors.push(`Cannot use setting METRICS_PORT: ${given.METRICS_PORT} is PORT, want another one, or leave it out`);
  const origin = originOf(given);
  // Tokens and cookies are sent to where riders sign in.
  if (has('SIGN_IN_ISSUER') && origin.protocol === 'http:' && !isLoopback(origin.hostname))
    errors.push(
      'Cannot use setting BASE_URL: it is http, and riders sign in with SIGN_IN_ISSUER; their tokens would cross the network in the clear: want https (a proxy may end TLS), or http on a loopback address',
    );
  if (has('SIGN_IN')) checkPicking(has, given, errors);
  if (given.CALENDAR_PAGE && !isLocal(given))
    errors.push(
      'Cannot use setting CALENDAR_PAGE: got "on", but HOST or BASE_URL can be reached by others, want off: the page shares the origin of sign-in, and is for trying the service on one machine',
    );
  checkRedis(given, errors);
}

/** Several addresses are nodes of one Redis Cluster, which has no numbered databases. */
function checkRedis(given: Given, errors: string[]): void {
  if (several(given.REDIS_URL) && !given.REDIS_CLUSTER)
    errors.push(
      'Cannot use setting REDIS_URL: it has several addresses, want one; if they are nodes of a Redis Cluster, set REDIS_CLUSTER=true',
    );
  const clusters = {
    REDIS_URL: given.REDIS_CLUSTER ? given.REDIS_URL : undefined,
    AUTH_REDIS_URL: given.AUTH_REDIS_URL,
  };
  for (const [name, urls] of Object.entries(clusters)) {
    const isCluster = name === 'REDIS_URL' || several(urls);
    if (isCluster && urls?.some((url) => !/^\/?0?$/.test(new URL(url).pathname)))
      errors.push(`Cannot use setting ${name}: it names a database, want none: a cluster has only database 0`);
  }
}

const several = (urls: readonly string[] = []): boolean => urls.length > 1;

/** Riders can be picked without proof only in the embedded default (docs/rules.md#picking-a-rider). */
function checkPicking(has: (name: SettingName) => boolean, given: Given, errors: string[]): void {
  const others: SettingName[] = ['KAFKA_BROKERS', 'REDIS_URL', 'SIGN_IN_ISSUER'];
  const reasons = others.filter(has).map((name) => `${name} is given too`);
  if (!isLoopback(hostOf(given))) reasons.push('HOST can be reached by others');
  if (!isLoopback(originOf(given).hostname)) reasons.push('BASE_URL is not on this machine');
  if (reasons.length === 0) return;
  errors.push(
    `Cannot use setting SIGN_IN: ${reasons.join(', ')}; riders are picked only from an archive with views in memory, on a loopback address: leave SIGN_IN out`,
  );
}

const isLocal = (given: Given): boolean => isLoopback(hostOf(given)) && isLoopback(originOf(given).hostname);
const hostOf = (given: Given): string => given.HOST ?? '127.0.0.1';
const portOf = (given: Given): number => given.PORT ?? 8080;
const originOf = (given: Given): URL => new URL(given.BASE_URL?.origin ?? `http://127.0.0.1:${portOf(given)}`);

function settingsOf(given: Given) {
  const [host, port] = [hostOf(given), portOf(given)];
  const base = given.BASE_URL ?? { origin: originOf(given).origin, path: '/api' };
  const topicPrefix = given.KAFKA_TOPIC_PREFIX ?? defaultTopicPrefix;
  const cluster = given.REDIS_CLUSTER ?? false;
  const redisAt = (urls: readonly string[], cluster: boolean) => ({
    url: urls.join(','),
    cluster,
    keyPrefix: given.REDIS_KEY_PREFIX ?? 'ride-calendar:',
  });
  const redis = given.REDIS_URL ? redisAt(given.REDIS_URL, cluster) : null;
  const embedded = !given.KAFKA_BROKERS && !redis && !given.SIGN_IN_ISSUER && isLocal(given);
  return {
    host,
    port,
    /** Without a trailing slash. Also `resource` and `aud` of tokens. */
    baseUrl: base.origin + base.path,
    /** BASE_URL's scheme, host and port: the issuer. */
    origin: base.origin,
    /** BASE_URL's path without a trailing slash, `/api`: the interface's base path. Empty for the root. */
    basePath: base.path,
    /** Addresses and ranges of proxies. Null: no forwarding header is trusted. */
    trustProxy: given.TRUST_PROXY ?? null,
    /** Comes before the names of topics in Kafka and of an archive's folders. */
    topicPrefix,
    /** How producers map keys to partitions, topic by topic. Of the log that is served, be it Kafka's or an archive. */
    partitioners: { ...defaultPartitioners, ...given.KAFKA_PARTITIONER } as Partitioners,
    /** Those of them that were given. */
    givenPartitioners: given.KAFKA_PARTITIONER ?? {},
    /** Null without KAFKA_BROKERS. The log is then an archive. */
    kafka: given.KAFKA_BROKERS
      ? {
          brokers: given.KAFKA_BROKERS,
          topicPrefix,
          ssl: given.KAFKA_SSL ?? false,
          sasl: given.KAFKA_SASL_MECHANISM
            ? {
                mechanism: given.KAFKA_SASL_MECHANISM,
                username: given.KAFKA_SASL_USERNAME!,
                password: given.KAFKA_SASL_PASSWORD!,
              }
            : null,
          group: given.KAFKA_GROUP ?? 'ride-calendar',
          /** Without a trailing slash. */
          schemaRegistryUrl: given.SCHEMA_REGISTRY_URL ?? null,
        }
      : null,
    /** Null, and no `kafka`: the log is the sample archive in `dataDir`. */
    archiveDir: given.ARCHIVE_DIR ?? null,
    /** A folder of further writers' schemas. */
    writerSchemas: given.WRITER_SCHEMAS ?? null,
    /** Null without REDIS_URL. Views are then in memory. */
    redis,
    /**
     * Where grants and sessions are (docs/rules.md#sign-in-state): AUTH_REDIS_URL, or REDIS_URL. Null: in memory. AUTH_REDIS_URL is one server, unless it
     * has several addresses, or an address of the views' cluster.
     */
    authRedis: given.AUTH_REDIS_URL ? redisAt(given.AUTH_REDIS_URL, isAuthCluster(given)) : redis,
    /** The folder of what is made once and kept: the sample archive, signing keys. */
    dataDir: given.DATA_DIR ?? '.ride-calendar',
    /** The riders' own OpenID Connect provider. */
    signIn: given.SIGN_IN_ISSUER
      ? {
          issuer: given.SIGN_IN_ISSUER,
          clientId: given.SIGN_IN_CLIENT_ID!,
          clientSecret: given.SIGN_IN_CLIENT_SECRET!,
        }
      : null,
    /** Anybody at this machine may be any rider of the log. Only ever with `embedded`. */
    pickRiders: given.SIGN_IN === 'pick',
    oauth: {
      /** A file: a JSON array of client metadata. */
      clientsFile: given.OAUTH_CLIENTS ?? null,
      /** A file: a JSON Web Key Set. Null: a key is made and kept in `dataDir`. */
      keysFile: given.OAUTH_KEYS ?? null,
      /** Newest first. Null: one is made and kept in `dataDir`. */
      cookieKeys: given.OAUTH_COOKIE_KEYS ?? null,
      registration: given.OAUTH_REGISTRATION ?? embedded,
      clientMetadata: given.OAUTH_CLIENT_METADATA ?? embedded,
    },
    /** The port of /metrics, /healthz and /readyz. Null: they are on `port`. */
    metricsPort: given.METRICS_PORT ?? null,
    /** How long a server that was told to stop goes on serving, unready. */
    drainSeconds: given.DRAIN_SECONDS ?? (embedded ? 0 : 5),
    cacheSeconds: given.CACHE_SECONDS ?? 0,
    /** Milliseconds since the epoch. Sets only the calendar's time (docs/rules.md#clock). Null: the real clock. */
    nowMs: given.NOW ?? null,
    /** Whether `start` serves /calendar. */
    calendarPage: given.CALENDAR_PAGE ?? embedded,
    logLevel: given.LOG_LEVEL ?? 'info',
    /** No Kafka, no Redis and no sign-in issuer, and both HOST and BASE_URL are only this machine. */
    embedded,
  };
}

const isAuthCluster = ({ REDIS_URL = [], REDIS_CLUSTER = false, AUTH_REDIS_URL = [] }: Given): boolean =>
  several(AUTH_REDIS_URL) || (REDIS_CLUSTER && REDIS_URL.includes(AUTH_REDIS_URL[0]!));
