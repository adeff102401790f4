import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { isLoopback } from '../../api/messages/service-url.ts';
import { type Partitioners, partitioners } from '../../schemas/events/partitioner.ts';
import { byTopic, topicNames } from '../../schemas/events/records.ts';

/** A setting, by its variable's name: how its text is parsed, what to ask for if that fails, how it may be shown. */
export interface SettingRule<T> {
  read: z.ZodType<T, string>;
  /** Completes "want …". */
  want: string;
  /** What an error may show of the value. All of it if absent. */
  show?: (text: string) => string;
  /** It holds a credential, and may be given as a file: docs/settings.md#secrets-in-files. */
  secret?: true;
}

const rule = <T>(read: z.ZodType<T, string>, want: string, show?: (text: string) => string): SettingRule<T> =>
  show ? { read, want, show } : { read, want };

const hidden = (): string => '(hidden)';

const secret = <T>(read: z.ZodType<T, string>, want: string, show: (text: string) => string): SettingRule<T> => ({
  ...rule(read, want, show),
  secret: true,
});

/** A URL with its user, password and query hidden. If it cannot be parsed, all of it is hidden. */
function maskUrl(text: string): string {
  // Not parsed with `new URL`: errors show wrong URLs, which may contain a password too.
  if (!text.includes('@') && !text.includes('?')) return text;
  const parts = /^([a-z+]+:\/\/)(?:.*@)?([^?#@]*)/i.exec(text);
  return parts ? `${parts[1]}${text.includes('@') ? '***@' : ''}${parts[2]}` : '(hidden)';
}

const text = (pattern: RegExp) => z.string().regex(pattern);

const word = <W extends string>(...words: W[]) => z.string().toLowerCase().pipe(z.enum(words));

const trueOrFalse = word('true', 'false').transform((value) => value === 'true');
const onOrOff = word('on', 'off').transform((value) => value === 'on');

const listOf = <T>(item: z.ZodType<T, string>) =>
  z
    .string()
    .transform((value) => value.split(',').map((each) => each.trim()))
    .pipe(z.array(item));

/** `murmur2,attendance:crc32`: a partitioner for all topics, then others for some. */
const partitionersByTopic = z
  .string()
  .toLowerCase()
  .transform((value) => value.split(',').map((each) => each.trim().split(':').toReversed()))
  .pipe(z.array(z.union([z.tuple([z.enum(partitioners)]), z.tuple([z.enum(partitioners), z.enum(topicNames)])])))
  .refine((list) => new Set(list.map(([, topic]) => topic)).size === list.length)
  .transform((list): Partial<Partitioners> => {
    const all = list.find((one) => one.length === 1)?.[0];
    return {
      ...(all && byTopic(() => all)),
      ...Object.fromEntries(list.flatMap(([one, topic]) => (topic ? [[topic, one]] : []))),
    };
  });

const wholeNumber = (min: number, max: number) =>
  text(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max));

/** What is wrong with a value, as an error says it after `which`: `has a query`. */
export interface Fault {
  which: string;
}

/** Refuses a value by its faults, if it has any. */
const unless =
  <T>(...faults: [isWrong: (value: T) => boolean, which: string][]) =>
  (value: T, ctx: z.RefinementCtx): void => {
    for (const [isWrong, which] of faults) {
      if (isWrong(value)) ctx.addIssue({ code: 'custom', params: { which } satisfies Fault });
    }
  };

// Everybody knows this password: it is in the files of infra/deploy/kubernetes/example.
const examplePassword = 'change-me';
const password = z.string().superRefine(unless([(value) => value === examplePassword, 'is the example’s']));

const loneEscape = /%(?![\dA-Fa-f]{2})/;

const query = [(value: URL) => value.search !== '', 'has a query'] as [(value: URL) => boolean, string];
const user = [(value: URL) => value.username + value.password !== '', 'has a user or password'] as typeof query;

/** An absolute URL of one of the protocols, without a fragment. `without`: other parts that it must not have. */
const url = (protocols: readonly string[], ...without: (typeof query)[]) =>
  z
    .string()
    .refine((value) => URL.canParse(value) && !/\s/.test(value))
    .transform((value) => new URL(value))
    .refine((value) => protocols.includes(value.protocol) && value.hostname !== '')
    .superRefine(
      unless<URL>(
        ...without,
        [(value) => value.href.includes('#'), 'has a fragment'],
        [(value) => value.password === examplePassword, 'has the example’s password'],
        [
          ({ username, password }) => loneEscape.test(username + password),
          'has a % in its user or password that is no escape: write it as %25',
        ],
      ),
    );

const addressOrRange = (text: string): boolean => {
  const [address, bits, ...more] = text.split('/');
  const family = address!.includes('%') ? 0 : isIP(address!);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
};

// Not a number of proxies: with a number, a client that reaches the service directly could claim any address.
const proxies = listOf(z.string().refine(addressOrRange));

const redisUrl = url(['redis:', 'rediss:'], query, [
  // `redis://localhost:6379/2` is database 2. Any other path is a mistake.
  (value) => !/^(\/\d{0,5})?$/.test(value.pathname),
  'has a path that is no number of a database',
]).transform((value) => value.href.replaceAll(',', '%2C'));

/** One URL for each address of `redis://user:password@a:6379,b:6379`. */
const eachRedisUrl = (text: string): string[] => {
  const before = /^[a-z]+:\/\/(?:[^/]*@)?/i.exec(text)?.[0] ?? '';
  const addresses = text.slice(before.length).split(',');
  return addresses.map((address) => before + address.trim());
};

const redisUrls = z.string().transform(eachRedisUrl).pipe(z.array(redisUrl));
const wantRedis =
  'a redis or rediss URL, such as redis://127.0.0.1:6379; of a Redis Cluster several addresses, such as redis://user:password@10.0.0.1:6379,10.0.0.2:6379';

const brokers = listOf(
  text(/^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/).refine((broker) => portOf(broker) <= 65_535),
).refine((list) => new Set(list).size === list.length);

const portOf = (broker: string): number => Number(broker.slice(broker.lastIndexOf(':') + 1));

/** Our paths beside the interface. The base path must not overlap them. */
const ownPaths = /^\/(docs|calendar|healthz|readyz|metrics|oauth|\.well-known)(\/|$)/;

const baseUrl = url(['http:', 'https:'], user, query)
  .transform((value) => ({ origin: value.origin, path: value.pathname.replace(/\/$/, '') }))
  .superRefine(
    unless(
      [({ path }) => ownPaths.test(path), 'has a path that is the service’s own'],
      [({ path }) => !/^(\/[A-Za-z0-9._~-]+)*$/.test(path), 'has a path of other characters than A-Z a-z 0-9 . _ ~ -'],
    ),
  );

const issuer = url(['http:', 'https:'], user, query)
  .refine((value) => value.protocol === 'https:' || isLoopback(value.hostname))
  .transform((value) => value.href.replace(/\/$/, ''));

const instant = z.iso
  .datetime({ offset: true })
  .or(z.iso.datetime({ offset: true, precision: -1 }))
  .refine((value) => !value.startsWith('0000'))
  .transform((value) => Date.parse(value));

const readable = (isFolder: boolean) =>
  z.string().refine((path) => {
    try {
      accessSync(path, constants.R_OK);
      // A pipe is accepted like a file.
      return statSync(path).isDirectory() === isFolder;
    } catch {
      return false;
    }
  });
const file = readable(false);
const folder = readable(true);

/** Every setting, in the order in which errors name them. */
export const settingRules = {
  HOST: rule(
    z.string().refine((host) => isIP(host) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(host)),
    'a host name or an IP address to listen on, without brackets or port, such as 127.0.0.1',
  ),
  PORT: rule(wholeNumber(1, 65_535), 'a whole number from 1 to 65535'),
  BASE_URL: rule(
    baseUrl,
    'an absolute http or https URL without user, query or fragment, whose path is not one of the service’s own (/docs, /oauth…), such as https://rides.example.org/api',
    maskUrl,
  ),
  TRUST_PROXY: rule(proxies, 'IP addresses or ranges of proxies, several separated by commas, such as 10.0.0.0/8,::1'),
  KAFKA_BROKERS: rule(brokers, 'host:port, several separated by commas, none twice, such as 127.0.0.1:9092'),
  KAFKA_TOPIC_PREFIX: rule(text(/^[A-Za-z0-9._-]{1,200}$/), '1 to 200 of the characters A-Z a-z 0-9 . _ -'),
  KAFKA_PARTITIONER: rule(
    partitionersByTopic,
    'murmur2, crc32 or other; where topics differ, such as murmur2,attendance:crc32',
  ),
  KAFKA_SSL: rule(trueOrFalse, 'true or false'),
  KAFKA_SASL_MECHANISM: rule(word('plain', 'scram-sha-256', 'scram-sha-512'), 'plain, scram-sha-256 or scram-sha-512'),
  KAFKA_SASL_USERNAME: rule(z.string(), 'a user name'),
  KAFKA_SASL_PASSWORD: secret(password, 'a password', hidden),
  KAFKA_GROUP: rule(text(/^[A-Za-z0-9._-]{1,200}$/), '1 to 200 of the characters A-Z a-z 0-9 . _ -'),
  SCHEMA_REGISTRY_URL: secret(
    url(['http:', 'https:'], query).transform((value) => value.href.replace(/\/$/, '')),
    'an absolute http or https URL without query, such as http://127.0.0.1:8081',
    maskUrl,
  ),
  WRITER_SCHEMAS: rule(folder, 'a folder that exists and can be read, with Avro schemas (*.avsc)'),
  REDIS_URL: secret(redisUrls, wantRedis, maskUrl),
  REDIS_CLUSTER: rule(trueOrFalse, 'true or false'),
  REDIS_KEY_PREFIX: rule(text(/^[A-Za-z0-9._:-]{1,100}$/), '1 to 100 of the characters A-Z a-z 0-9 . _ : -'),
  AUTH_REDIS_URL: secret(redisUrls, wantRedis, maskUrl),
  ARCHIVE_DIR: rule(folder, 'a folder that exists and can be read'),
  DATA_DIR: rule(z.string(), 'a folder’s path'),
  SIGN_IN_ISSUER: rule(
    issuer,
    'the https URL of an OpenID Connect provider (http on this machine alone), without user, query or fragment',
    maskUrl,
  ),
  SIGN_IN_CLIENT_ID: rule(z.string(), 'a client id'),
  SIGN_IN_CLIENT_SECRET: secret(password, 'a client secret', hidden),
  SIGN_IN: rule(word('pick'), 'pick, or nothing'),
  OAUTH_CLIENTS: rule(file, 'a file that exists and can be read, with a JSON array of client metadata (RFC 7591)'),
  OAUTH_REGISTRATION: rule(onOrOff, 'on or off'),
  OAUTH_CLIENT_METADATA: rule(onOrOff, 'on or off'),
  OAUTH_KEYS: rule(file, 'a file that exists and can be read, with a JSON Web Key Set'),
  OAUTH_COOKIE_KEYS: secret(
    listOf(z.string().min(32)),
    'keys of 32 characters or more, separated by commas, the newest first',
    hidden,
  ),
  METRICS_PORT: rule(wholeNumber(1, 65_535), 'a whole number from 1 to 65535'),
  DRAIN_SECONDS: rule(wholeNumber(0, 3_600), 'a whole number of seconds from 0 to 3600'),
  CACHE_SECONDS: rule(wholeNumber(0, 31_536_000), 'a whole number of seconds from 0 to 31536000'),
  CALENDAR_PAGE: rule(onOrOff, 'on or off'),
  NOW: rule(instant, 'an instant with its offset, such as 2015-06-13T19:00:00Z'),
  LOG_LEVEL: rule(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'fatal, error, warn, info, debug, trace or silent',
  ),
} satisfies Record<string, SettingRule<unknown>>;

export type SettingName = keyof typeof settingRules;
export type SettingValue<N extends SettingName> = z.output<(typeof settingRules)[N]['read']>;

export const secretSettings = (Object.entries(settingRules) as [SettingName, SettingRule<unknown>][]).flatMap(
  ([name, { secret }]) => (secret ? [name] : []),
);
