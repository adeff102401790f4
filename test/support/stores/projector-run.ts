import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import type { EventLog, RejectSink } from '../../../projector/ports/event-log.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { Projector, type ProjectorDeps } from '../../../projector/projector.ts';
import { silentLog } from '../processes/heard.ts';
import type { History } from '../worlds/histories.ts';
import { MemoryEventLog } from './memory-event-log.ts';
import { dumpViews } from './view-dump.ts';

/** A projector under way, with its whole loop. */
export interface Running {
  projector: Projector;
  /** Ends as `Projector.run` does. */
  ended: Promise<void>;
  /** Resolves once the views stand at the ends sampled at the start; throws what ended the projector before. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

export function startProjector(
  eventLog: EventLog,
  writer: ViewWriter,
  rejects: RejectSink | null = null,
  more: Partial<ProjectorDeps> = {},
): Running {
  const projector = new Projector({ eventLog, writer, rejects, log: silentLog, ...more });
  const abort = new AbortController();
  const ended = projector.run(abort.signal);
  let isOver = false;
  const markOver = (): void => {
    isOver = true;
  };
  // Whoever stops it, or waits for it, hears of its end.
  ended.then(markOver, markOver);
  return {
    projector,
    ended,
    async ready() {
      // Over views in memory it takes a few turns. Over Redis it takes seconds, and others need the core.
      for (let turn = 0; !projector.ready && !isOver; turn++) await (turn < 1_000 ? nextTurn() : sleep(5));
      if (!projector.ready) await ended;
    },
    async stop() {
      abort.abort();
      await ended;
    },
  };
}

/** What a store holds once a log that does not grow was projected into it. */
export async function projected(
  store: MemoryViewStore,
  history: Pick<History, 'partitions' | 'records'>,
): Promise<Map<string, string>> {
  const running = startProjector(new MemoryEventLog(history), store.writer());
  await running.ready();
  await running.stop();
  return dumpViews(store);
}
