import { setTimeout as sleep } from 'node:timers/promises';
import type { HistoryWriter } from './history-writer.ts';
import type { Service } from './service.ts';

/** The series of a scrape that tell of stalls. */
function valuesIn(text: string): Record<string, number> {
  const names = 'role|unreadable_age_seconds|waiting_seconds|store_parts_in_repair|projector_ready|store_answers';
  const found = text.matchAll(new RegExp(`^(ride_calendar_(?:${names})(?:\\{.*\\})?) (\\S+)$`, 'gm'));
  const values = [...found].map(([, series, value]) => [series!, Number(value)] as const);
  // JSON has no NaN, by which a metric says that it is not known.
  return Object.fromEntries(values.filter(([, value]) => !Number.isNaN(value)));
}

const everyMs = 1_000;

/** Writes down every second what each process says of itself: metrics, readiness, and what it logged. */
export function watch(services: readonly Service[], history: HistoryWriter) {
  const stopped = new AbortController();
  /** The instances that said last that they lead. */
  const leaders = new Set<string>();
  const watching = services.map(async (service) => {
    while (!stopped.signal.aborted) {
      const { process } = service;
      const [{ status, body }, readiness] = await Promise.all([service.get('/metrics'), service.readiness()]);
      const values = status === 200 ? valuesIn(body) : null;
      history.add({ type: 'metrics', process, values });
      history.add({ type: 'ready', process, ...readiness });
      service.takeNotes();
      if (values?.['ride_calendar_role{role="leader"}'] === 1) leaders.add(service.name);
      else leaders.delete(service.name);
      await sleep(everyMs);
    }
  });
  const stop = async (): Promise<void> => {
    stopped.abort();
    await Promise.all(watching);
  };
  return { leaders, stop };
}
