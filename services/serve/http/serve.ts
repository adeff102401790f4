import { Stop } from '../../../projector/running/stop.ts';
import { type ApplicationOptions, application } from './application.ts';
import { listen, operatorsAt, stopListening } from './listen.ts';
import { operatorApp, registerOperatorRoutes } from './operator-routes.ts';
import {
  apiReadiness,
  drain,
  logReadiness,
  readyOrAwhile,
  type Trouble,
  untilStopped,
  watchedReads,
} from './readiness.ts';

interface ServeOptions extends ApplicationOptions {
  /** Why a part of the process beside the API does not do its work. */
  trouble?: Trouble;
}

/** The API, the authorization server and the operators' routes as one HTTP application, which is not listening yet. */
export async function serve(options: ServeOptions) {
  const { settings, metrics, log, signal, trouble = () => null } = options;
  const closing = new Stop();
  const { app, signInTrouble, close } = await application(options, closing.signal);
  const reads = watchedReads(options.reader);
  const readiness = untilStopped(apiReadiness(reads, trouble, signInTrouble), signal);
  // With METRICS_PORT, a server of their own.
  const at = operatorsAt(settings);
  const operators = at && { at, app: operatorApp(metrics.register, readiness, log) };
  if (!operators) registerOperatorRoutes(app, metrics.register, readiness);
  return {
    /** Listens, on METRICS_PORT too if that is set. */
    async listen(): Promise<void> {
      await readyOrAwhile(reads, signal);
      await listen(app, settings);
      // Not before: its /readyz says that requests may come.
      if (operators) await listen(operators.app, operators.at);
      void logReadiness(reads, log, new Stop([closing.signal, signal]).signal);
    },
    /** Ends connections, after DRAIN_SECONDS if the process was told to stop. */
    async close(): Promise<void> {
      if (signal.aborted) await drain(settings, log);
      closing.end();
      await stopListening(app);
      await close();
      if (operators) await stopListening(operators.app);
    },
  };
}
