import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import tzdata from 'tzdata' with { type: 'json' };
import { certificateEndsMs } from '../../../infra/net/certificate-ends.ts';
import { generation } from '../../../infra/redis/redis-keys.ts';
import type { Log } from '../../../projector/running/log.ts';
import { buildInfo } from '../../cli/build-info.ts';

/** Buckets of histograms of round trips to a server, in seconds. */
export const serverBuckets = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 0.6, 2, 10, 30];

type SetSeries = (labels: Record<string, string | number>, value: number) => void;

/** Declares metrics. Their labels are operations, statuses, topics and reasons: never ids, places or names. */
export function metricsIn(register: Registry) {
  const declared = (name: string, help: string, labelNames: string[] = []) => ({
    name: `ride_calendar_${name}`,
    help,
    labelNames,
    registers: [register],
  });
  return {
    /** `read`: called at each scrape, sets all of the values anew. */
    counter: (name: string, help: string, labels?: string[], read?: (set: SetSeries) => void) =>
      new Counter({
        ...declared(name, help, labels),
        collect() {
          if (read) this.reset();
          read?.((of, value) => this.inc(of, value));
        },
      }),
    histogram: (name: string, help: string, buckets: number[], labels?: string[]) =>
      new Histogram({ ...declared(name, help, labels), buckets }),
    /** A gauge whose one value is read at each scrape. */
    value: (name: string, help: string, read: () => number | Promise<number>): void => {
      new Gauge({
        ...declared(name, help),
        async collect() {
          this.set(await read());
        },
      });
    },
    /** A gauge whose values are all set anew at each scrape. */
    series: (name: string, help: string, labels: string[], read: (set: SetSeries) => void): void => {
      new Gauge({
        ...declared(name, help, labels),
        collect() {
          this.reset();
          read((of, value) => this.set(of, value));
        },
      });
    },
  };
}

/** The Prometheus metrics of every process. A projector and an API add their own. */
export function processMetrics(
  log: Pick<Log, 'warn'>,
  authorityFile = process.env.NODE_EXTRA_CA_CERTS,
  zones = process.versions.tz ?? 'none',
): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const { series } = metricsIn(register);
  const build = buildInfo();
  series(
    'build_info',
    '1; the labels say which build runs, which generation of views it keeps, and which time zone data its Node has',
    ['version', 'commit', 'generation', 'tz'],
    (set) => set({ ...build, generation, tz: zones }, 1),
  );
  // Both are named after their year, such as 2026c.
  if (zones === 'none' || zones < tzdata.version)
    log.warn(
      `The time zone data of this Node (${process.versions.node}) is ${zones}, older than ${tzdata.version}, which this version was tested with: where a zone's rules changed, \`past\` turns at the wrong hour. Update Node, see engines in package.json`,
    );
  const expiryMs = earliestExpiryMs(authorityFile, log);
  series(
    'certificate_expiry_timestamp_seconds',
    'When the first certificate ends: of a setting’s file, of those that had not ended at the start; of the servers at a setting’s address, as each showed it last',
    ['setting'],
    (set) => {
      if (expiryMs !== null) set({ setting: 'NODE_EXTRA_CA_CERTS' }, expiryMs / 1000);
      for (const [setting, endMs] of certificateEndsMs()) set({ setting }, endMs / 1000);
    },
  );
  return register;
}

/**
 * When the first certificate of a PEM file ends. Those that have ended already are left out: a system's bundle holds roots
 * that ended long ago. Null: none is left, there is no file, or it cannot be read.
 */
function earliestExpiryMs(file: string | undefined, log: Pick<Log, 'warn'>): number | null {
  if (!file) return null;
  let endsMs: number[];
  try {
    const certificates = readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
    endsMs = certificates!.map((pem) => new X509Certificate(pem).validToDate.getTime());
  } catch {
    // Node itself warns of a file that it cannot read.
    return null;
  }
  const live = endsMs.filter((ms) => ms > Date.now());
  if (live.length < endsMs.length)
    log.warn(
      `Certificates in the file of NODE_EXTRA_CA_CERTS that have ended: ${endsMs.length - live.length} of ${endsMs.length}. Nothing signed by them is trusted, and no metric watches them`,
    );
  return live.length > 0 ? Math.min(...live) : null;
}
