import type { Registry } from 'prom-client';
import type { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import type { StoreMemory } from '../../../api/ports/view-reader.ts';
import { metricsIn, serverBuckets } from './process-metrics.ts';

/** What the scrape before has learnt of a store: a scrape never waits for it. While it is away, what was known last. */
function learnt<T, F>(ask: () => Promise<T>, first: F): () => T | F {
  let known: T | F = first;
  const again = (): void =>
    void ask().then(
      (answer) => {
        known = answer;
      },
      () => undefined,
    );
  again();
  return () => {
    again();
    return known;
  };
}

export function apiMetrics(register: Registry) {
  const { counter, histogram, series, value } = metricsIn(register);
  const answers = histogram(
    'http_answer_seconds',
    'Time to answer a request of the interface or of sign-in, by operation and status',
    [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2],
    ['operation', 'status'],
  );
  const reads = histogram(
    'store_read_seconds',
    'Round trips of the API to the view store, by operation',
    serverBuckets,
    ['operation'],
  );
  return {
    register,
    answered: (operation: string, status: number, seconds: number): void =>
      answers.observe({ operation, status }, seconds),
    read: (operation: string, seconds: number): void => reads.observe({ operation }, seconds),
    measureCache(cache: Pick<ViewCache, 'bytes' | 'hits' | 'misses'>): void {
      value('cache_bytes', 'Views kept in this process', () => cache.bytes);
      const help = 'Views looked up: hit, in this process; miss, in the view store';
      counter('cache_reads_total', help, ['result'], (set) => {
        set({ result: 'hit' }, cache.hits);
        set({ result: 'miss' }, cache.misses);
      });
    },
    measureSignInState(isAtRisk: () => Promise<boolean>): void {
      const atRisk = learnt(isAtRisk, false);
      value(
        'sign_in_state_at_risk',
        'Whether a crash or restart of sign-in’s Redis would lose sign-ins: no persistence, or keys evicted',
        () => Number(atRisk()),
      );
    },
    /** By the name of each store. */
    measureMemory(stores: Record<string, () => Promise<StoreMemory>>): void {
      const memories = Object.entries(stores).map(([store, ask]) => ({ store, memory: learnt(ask, null) }));
      const gauge = (name: string, help: string, read: (memory: StoreMemory) => number): void =>
        series(name, help, ['store'], (set) => {
          for (const { store, memory } of memories) {
            const known = memory();
            if (known) set({ store }, read(known));
          }
        });
      gauge('redis_memory_used_bytes', 'Memory that a Redis uses, by what it stores', ({ usedBytes }) => usedBytes);
      gauge('redis_memory_limit_bytes', 'Memory beyond which a Redis takes no writes', ({ limitBytes }) => limitBytes);
    },
    measureSignInStore: (isAnswering: () => boolean): void =>
      value(
        'sign_in_store_answers',
        'Whether riders can sign in and apps refresh: 0 while sign-in’s Redis is away or takes no writes',
        () => Number(isAnswering()),
      ),
    measureStore: (isAnswering: () => Promise<boolean>): void =>
      value(
        'store_answers',
        'Whether reads can be answered just now: 0 while the view store is away or incomplete, and they get 503',
        async () => Number(await isAnswering()),
      ),
    measureUnledTags: (unledTags: () => number | null): void =>
      value(
        'store_parts_unled',
        'How many of the store’s 64 parts no projector writes: none has confirmed its lead for 2.5 s. NaN: Redis does not answer',
        () => unledTags() ?? Number.NaN,
      ),
  };
}

export type ApiMetrics = ReturnType<typeof apiMetrics>;
