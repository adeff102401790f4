import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// Files that are copied or mounted together: what one says of another is so.

const read = (name: string): string => readFileSync(new URL(`../../../infra/deploy/${name}`, import.meta.url), 'utf8');
const example = (name: string) => `systemd/example/${name}`;
const unit = (part: string) => `systemd/ride-calendar-${part}@.service`;
const day = '../../docs/first-production-day.md';

type Said = [file: string, what: RegExp];
const asked = (setting: string, ...parts: string[]) =>
  parts.map((part): Said => [example(`${part}.env`), new RegExp(`^${setting}=.*:(\\d+)$`, 'gm')]);
const named = (setting: string, ...files: string[]) =>
  files.map((file): Said => [file, new RegExp(`\\b${setting}[=:] ?(?:\\$\\{\\w+:-)?([\\w./:-]+)`, 'g')]);

const ofRedis = (which: string): Said[] => [
  [day, new RegExp(`/(?:var/lib/redis/|etc/redis/users-)(${which})\\b`, 'g')],
  [example(`redis-${which}.conf`), /^dir \/var\/lib\/redis\/(\S+)$/gm],
  [example(`redis-${which}.conf`), /^aclfile \/etc\/redis\/users-(\S+)\.acl$/gm],
];
const ofDebezium = (has: RegExp, says: RegExp): Said[] => [
  ['debezium-outbox.properties', has],
  ['../../docs/publishing.md', says],
];

const agreements: Record<string, Said[]> = {
  'the port of the views’ Redis': [
    [example('redis-views.conf'), /^port (\d+)$/gm],
    ...asked('REDIS_URL', 'api', 'projector'),
  ],
  'the port of sign-in’s Redis': [
    [example('redis-sign-in.conf'), /^port (\d+)$/gm],
    ...asked('AUTH_REDIS_URL', 'api', 'backup-sign-in'),
  ],
  'the folder and the users of the Redis of views': ofRedis('views'),
  'the folder and the users of the Redis of sign-in': ofRedis('sign-in'),
  'the address of Kafka': [
    [example('kafka.properties'), /listeners=PLAINTEXT:\/\/([^,\n]+)/g],
    ...named('KAFKA_BROKERS', example('projector.env'), example('backup-archive.env')),
  ],
  'the folder of Kafka’s log': [
    [example('kafka.properties'), /^log\.dirs=(.*)$/gm],
    [day, /install -d -o kafka -g kafka (\S+)/g],
  ],
  'the partitioner of publishers that say nothing': [
    ['../../docs/settings.md', /^\| `KAFKA_PARTITIONER` \| (\w+) /gm],
    ...named('KAFKA_PARTITIONER', 'compose.yaml', example('projector.env'), example('backup-archive.env')),
  ],
  'the folder of settings': [
    [unit('backup'), /^EnvironmentFile=(\S+)\/backup-%i\.env$/gm],
    [day, /\*\.env (\S+)\/$/gm],
  ],
  'the folder of writers’ schemas': [
    ['../../docs/alerts.md', /folder of `WRITER_SCHEMAS` \(`(\S+)`/g],
    ...named('WRITER_SCHEMAS', unit('projector'), unit('backup')),
  ],
  'where a unit keeps a backup, and says when it was made': [
    [unit('backup'), /^ExecStart=\S+ %i (\S+)\/%i$/gm],
    ...named('TEXTFILE_DIR', unit('backup')),
    [
      unit('backup'),
      /^ExecStartPost=\+\S+ -m 644 (\S+)\/ride_calendar_%i\.prom \/var\/lib\/prometheus\/node-exporter\/$/gm,
    ],
  ],
  'where compose’s backups say when they were made': [
    ['compose.yaml', /(?:textfile\.directory=|TEXTFILE_DIR: |\.\/backup\/said:)(\/\w+)/g],
    ['compose.yaml', /node-exporter:[\s\S]*?'\.\/backup\/said:(\/\w+):ro'/g],
  ],
  'the rules that Prometheus reads': [
    ['prometheus.yaml', /(\w+\.yaml)(?=[,\]])/g],
    ['compose.yaml', /\.\/(\w+\.yaml):\/etc\/prometheus\/\1:ro/g],
    [example('prometheus.yaml'), /\/etc\/prometheus\/(\w+\.yaml)/g],
    [day, /(?:-m 644 | )(alerts\.yaml|installations\.yaml)(?= .*\/etc\/prometheus\/ )/g],
  ],
  'the name of the installation': [
    ['installations.yaml', /namespace: ([\w-]+)/g],
    ['prometheus.yaml', /target_label: namespace, replacement: ([\w-]+) \}/g],
    [example('prometheus.yaml'), /namespace: ([\w-]+)/g],
    ['systemd/backup.sh', /\{INSTALLATION:-namespace=\\"([\w-]+)\\"/g],
  ],
  'the path of reads, which the proxies ask twice': [
    ['compose.yaml', /BASE_URL:-.*\}(\/\w+)\}/g],
    [example('api.env'), /^BASE_URL=https:\/\/[^/]+(\/\w+)$/gm],
    ...['haproxy.cfg', example('haproxy.cfg')].map((file): Said => [file, /acl read path_beg (\/\w+)\/$/gm]),
  ],
  'Kafka’s port for this machine': [
    ['compose.yaml', /HOST:\/\/:(\d+)/g],
    ['compose.yaml', /\{KAFKA_LISTEN:-[\d.:]+\}:(\d+)'/g],
  ],
  'Kafka’s address on this machine': [
    ['compose.yaml', /HOST:\/\/\$\{KAFKA_LISTEN:-(.*?)\}/g],
    ['compose.yaml', /'\$\{KAFKA_LISTEN:-(.*?)\}/g],
  ],
  'Prometheus’ port': [
    ['compose.yaml', /http:\/\/prometheus:(\d+)/g],
    ['compose.yaml', /PROMETHEUS_LISTEN:-.*\}:(\d+)'/g],
  ],
  'Grafana’s first page': [
    ['compose.yaml', /HOME_DASHBOARD_PATH: (\S+)/g],
    ['compose.yaml', /grafana-dashboard\.json:(\S+):ro/g],
  ],
  'the version of Kafka that is tried': [
    ['../local/kafka-broker.ts', /kafkaVersion = '(.*)'/g],
    ['compose.yaml', /apache\/kafka:(\S+)/g],
    ['kubernetes/README.md', /apache\/kafka:(\S+)/g],
    [day, /(?:unpack Kafka |\| Kafka \| )([\d.]+)/g],
  ],
  'Debezium’s slot': ofDebezium(/^slot\.name=(\w+)$/gm, /replication_slot\('(\w+)'/g),
  'Debezium’s plugin': ofDebezium(/^plugin\.name=(\w+)$/gm, /replication_slot\('\w+', '(\w+)'/g),
  'Debezium’s table': ofDebezium(/^table\.include\.list=public\.(\w+)$/gm, /create table (\w+) \(/g),
  'the folder of an API’s secrets in Kubernetes': [
    ['kubernetes/base/kustomization.yaml', /OAUTH_(?:KEYS|CLIENTS)=(\/\w+)\//g],
    ['kubernetes/base/api.yaml', /name: files, mountPath: ([\w/]+)/g],
  ],
  'the folder of the authority’s certificate in Kubernetes': [
    ['kubernetes/example/kustomization.yaml', /NODE_EXTRA_CA_CERTS=(\S+)\/authority\.pem/g],
    ['kubernetes/base/backup-sign-in.yaml', /authority=(\S+)\/authority\.pem/g],
    ...['projector', 'api', 'topics', 'backup-archive', 'backup-sign-in'].map(
      (part): Said => [`kubernetes/base/${part}.yaml`, /name: authority, mountPath: ([\w/-]+)/g],
    ),
  ],
  'the folder of a container’s data': [
    ['Dockerfile', / DATA_DIR=(\S+)$/gm],
    ['compose.yaml', /^ +- api:(\S+)$/gm],
    ...['projector', 'api'].map((part): Said => [`kubernetes/base/${part}.yaml`, /name: data, mountPath: (\S+) /g]),
  ],
  'podman’s tag': [
    ['kubernetes/podman/kustomization.yaml', /newTag: (\S+)/g],
    ['kubernetes/README.md', / -t ride-calendar:(\S+) /g],
  ],
};

it.each(Object.entries(agreements))('%s is the same wherever it is said', (_, said) => {
  const found = said.map(([file, what]) => [...new Set([...read(file).matchAll(what)].map(([, one]) => one))].sort());
  expect(found[0]!.length).toBeGreaterThan(0);
  expect(found).toEqual(said.map(() => found[0]));
});
