import type { FastifyInstance } from 'fastify';
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
  type WatchedReads,
  watchedReads,
} from './readiness.ts';

interface ServeOptions extends ApplicationOptions {
  /** Why a part of the process beside the API does not do its work. */
  trouble?: Trouble;
}

interface Served {
  /** Listens, on METRICS_PORT too if that is set. */
  listen(): Promise<void>;
  /** Ends connections, after DRAIN_SECONDS if the process was told to stop. */
  close(): Promise<void>;
}

/** The API, the authorization server and the operators' routes as one HTTP application, which is not listening yet. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { settings, log, signal } = options;
  const closing = new Stop();
  const { app, signInTrouble, close } = await application(options, closing.signal);
  const reads = watchedReads(options.reader);
  const operators = operatorsBeside(app, options, reads, signInTrouble);
  return {
    async listen() {
      await readyOrAwhile(reads, signal);
      await listen(app, settings);
      // Not before: its /readyz says that requests may come.
      await operators?.listen();
      void logReadiness(reads, log, new Stop([closing.signal, signal]).signal);
    },
    async close() {
      if (signal.aborted) await drain(settings, log);
      closing.end();
      await stopListening(app);
      await close();
      await operators?.close();
    },
  };
}

/** Registers the operators' routes with the application. With METRICS_PORT, returns a server of their own instead. */
function operatorsBeside(app: FastifyInstance, options: ServeOptions, reads: WatchedReads, signInTrouble: Trouble) {
  const { settings, metrics, log, signal, trouble = () => null } = options;
  const readiness = untilStopped(apiReadiness(reads, trouble, signInTrouble), signal);
  const at = operatorsAt(settings);
  if (at === null) {
    registerOperatorRoutes(app, metrics.register, readiness);
    return null;
  }
  const own = operatorApp(metrics.register, readiness, log);
  return { listen: () => listen(own, at), close: () => stopListening(own) };
}
