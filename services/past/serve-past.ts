import { isLoopback } from '../../api/messages/service-url.ts';
import type { Facts } from '../../projector/facts/facts.ts';
import { type Io, UsageError } from '../cli/io.ts';
import { firstDay, tokenToTry } from '../serve/http/first-steps.ts';
import { ownKey, withKey } from '../serve/http/own-key.ts';
import { serve } from '../serve/http/serve.ts';
import { apiMetrics } from '../serve/metrics/api-metrics.ts';
import { processMetrics } from '../serve/metrics/process-metrics.ts';
import { liveliestRiders } from '../serve/sign-in/views-rider-directory.ts';
import type { Settings } from '../settings/settings.ts';
import { filesOfThisProcess } from '../settings/sign-in-files.ts';
import { factsViewReader } from './answers/facts-view-reader.ts';

/** The settings of a service of the past: on this machine only, apart from the live service, with the given clock. */
export function settingsOfThePast(settings: Settings, nowMs: number): Settings {
  const { host, port } = settings;
  if (!isLoopback(host))
    throw new UsageError(
      `Cannot run replay --serve: HOST is ${JSON.stringify(host)}, want a loopback address such as 127.0.0.1, since any rider can be picked there`,
    );
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    ...settings,
    baseUrl: `${origin}/api`,
    origin,
    basePath: '/api',
    trustProxy: null,
    kafka: null,
    redis: null,
    authRedis: null,
    signIn: null,
    oauth: { clientsFile: null, keysFile: null, cookieKeys: null, registration: true, clientMetadata: false },
    metricsPort: null,
    drainSeconds: 0,
    nowMs,
    embedded: true,
  };
}

/**
 * Serves facts that do not change: the whole API, its documentation, sign-in by picking a rider. Writes nothing. `steps`: what to
 * request of it, and with which credentials.
 */
export async function servePast(facts: Facts, settings: Settings, rider: string | null, { log, signal }: Io) {
  const key = ownKey();
  const files = await filesOfThisProcess();
  const first = firstDay(facts, settings.nowMs!);
  const { listen, close } = await serve({
    settings,
    reader: withKey(factsViewReader(facts), key),
    metrics: apiMetrics(processMetrics(log)),
    log,
    files,
    signal,
    sampleKey: key,
    sampleRiders: (count) => liveliestRiders(facts, count),
    ...(first && { sample: first }),
  });
  await listen();
  const { baseUrl, origin } = settings;
  const steps = {
    base_url: baseUrl,
    docs: `${origin}/docs`,
    developer_key: key,
    /** A day that has nights. */
    day: first && `${baseUrl}/metros/${first.metro}/days/${first.day}`,
    rider,
    token: rider && (await tokenToTry(rider, files.keys, settings)),
  };
  return { steps, close };
}
