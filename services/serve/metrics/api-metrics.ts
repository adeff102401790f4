import type { Registry } from 'prom-client';
import type { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { metricsIn, serverBuckets } from './process-metrics.ts';

/** An API's Prometheus metrics. */
export function apiMetrics(register: Registry) {
  const { counter, histogram, value } = metricsIn(register);
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
    /** A round trip to the view store has ended. */
    read: (operation: string, seconds: number): void => reads.observe({ operation }, seconds),
    measureCache(cache: Pick<ViewCache, 'bytes' | 'hits' | 'misses'>): void {
      value('cache_bytes', 'Views kept in this process', () => cache.bytes);
      const help = 'Views looked up: hit, in this process; miss, in the view store';
      counter('cache_reads_total', help, ['result'], (set) => {
        set({ result: 'hit' }, cache.hits);
        set({ result: 'miss' }, cache.misses);
      });
    },
    /** A scrape never waits for the store: it shows what the scrape before has learnt. */
    measureSignInState(isAtRisk: () => Promise<boolean>): void {
      let known = 0;
      const ask = (): void =>
        void isAtRisk().then(
          (atRisk) => {
            known = Number(atRisk);
          },
          // The store is away, which says nothing about its persistence.
          () => undefined,
        );
      ask();
      value(
        'sign_in_state_at_risk',
        'Whether a crash or restart of sign-in’s Redis would lose sign-ins: no persistence, or keys evicted',
        () => {
          ask();
          return known;
        },
      );
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
  };
}

export type ApiMetrics = ReturnType<typeof apiMetrics>;
