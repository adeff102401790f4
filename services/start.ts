import { signSampleToken } from '../api/sign-in/sample-token.ts';
import { openEventLog } from './event-log.ts';
import { firstDay } from './first-steps.ts';
import { aborted, listen, stopSignal } from './listen.ts';
import { makeLogger } from './logger.ts';
import { serviceMetrics } from './metrics.ts';
import { registerOperatorRoutes } from './operator-routes.ts';
import { type Projecting, plain, project } from './project.ts';
import { liveliestRiders } from './rider-directory.ts';
import { serve } from './serve.ts';
import type { Settings } from './settings.ts';
import { loadSigningKeys } from './signing-keys.ts';
import { openViewStore } from './view-store.ts';

// The printed token is for trying the service out: longer than one got by signing in.
const sampleTokenSeconds = 8 * 3600;

/** `ride-calendar start`: projector, API and authorization server in one process. */
export async function runStart(settings: Settings): Promise<void> {
  const log = makeLogger(settings);
  const metrics = serviceMetrics();
  const signal = stopSignal();
  const opened = await openEventLog(settings, plain(log));
  const store = openViewStore(settings);
  const reader = store.reader();
  const stop = new AbortController();
  const projecting = await project(
    settings,
    opened,
    store,
    metrics.projector,
    log,
    AbortSignal.any([signal, stop.signal]),
  );
  metrics.watchProjector(() => projecting.current().ready);
  // Its end is judged below; until then it must not count as unhandled.
  projecting.done.catch(() => {});
  const facts = () => projecting.current().fold.facts;
  try {
    await readyOrEnded(projecting, signal, settings);
    const nowMs = settings.nowMs ?? Date.now();
    const first = firstDay(facts(), nowMs);
    const served = await serve({
      settings,
      reader,
      metrics,
      log,
      sampleRiders: (count) => liveliestRiders(facts(), count),
      ...(opened.sample && { sampleKey: opened.sample.developerKey }),
      ...(settings.embedded && first && { sample: first }),
    });
    registerOperatorRoutes(served.app, metrics.register, () => reader.ready());
    await listen(served.app, settings);
    await printFirstSteps(settings, opened.where, opened.sample, first, liveliestRiders(facts(), 1)[0]?.rider);
    await endOf(projecting, settings, signal, (message) => log.error(message));
    await served.close();
  } finally {
    stop.abort();
    await projecting.done.catch(() => {});
  }
}

/** In the embedded default the first request should find something: wait for the views, which takes a moment. */
async function readyOrEnded(projecting: Projecting, signal: AbortSignal, settings: Settings): Promise<void> {
  if (!settings.embedded) return;
  let ended = false;
  const done = projecting.done.finally(() => {
    ended = true;
  });
  done.catch(() => {});
  while (!projecting.current().ready && !ended && !signal.aborted)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if (ended) await done;
}

/** Ends with the process. Views in Redis are served on when the projector ends; those in memory end with it. */
async function endOf(
  projecting: Projecting,
  settings: Settings,
  signal: AbortSignal,
  say: (message: string) => void,
): Promise<void> {
  try {
    await projecting.done;
  } catch (cause) {
    if (!settings.redis) throw cause;
    say(`The projector has ended, reads go on from the views as they are: ${(cause as Error).message}`);
    process.exitCode = 1;
    await aborted(signal);
  }
}

async function printFirstSteps(
  settings: Settings,
  where: string,
  sample: { developerKey: string; rider: string } | null,
  first: { metro: string; day: string } | null,
  liveliest: string | undefined,
): Promise<void> {
  const { baseUrl, origin } = settings;
  const say = (line = ''): boolean => process.stdout.write(`${line}\n`);
  say(`Ride Calendar serves ${where}.`);
  say();
  say(`  Base URL       ${baseUrl}`);
  say(`  Docs           ${origin}/docs`);
  if (sample) say(`  Developer key  ${sample.developerKey}`);
  if (first) {
    say();
    say('First request:');
    say(
      `  curl -H 'X-Api-Key: ${sample?.developerKey ?? '<developer key>'}' ${baseUrl}/metros/${first.metro}/days/${first.day}`,
    );
  }
  const rider = sample?.rider ?? liveliest;
  if (settings.embedded && rider !== undefined) {
    const keys = await loadSigningKeys({ file: settings.oauth.keysFile ?? undefined, dataDir: settings.dataDir });
    const token = await signSampleToken({
      rider,
      keys,
      issuer: origin,
      audience: baseUrl,
      lifetimeSeconds: sampleTokenSeconds,
    });
    say();
    say(`A rider's own nights (a token for ${rider}, good for ${sampleTokenSeconds / 3600} hours on this machine):`);
    say(`  curl -H 'Authorization: Bearer ${token}' ${baseUrl}/me/nights`);
  }
  say();
  say('Ctrl-C stops it.');
}
