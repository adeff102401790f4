import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ViewCache } from '../../../api/calendar/view-cache.ts';
import { serverBuckets } from './process-metrics.ts';

const signInStateAskedEveryMs = 60_000;

/** An API's Prometheus metrics. */
export function apiMetrics(register: Registry) {
  const registers = [register];
  const answers = new Histogram({
    name: 'ride_calendar_http_answer_seconds',
    help: 'Time to answer a request of the interface or of sign-in, by operation and status',
    labelNames: ['operation', 'status'],
    buckets: [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2],
    registers,
  });
  const reads = new Histogram({
    name: 'ride_calendar_store_read_seconds',
    help: 'Round trips of the API to the view store, by operation',
    labelNames: ['operation'],
    buckets: serverBuckets,
    registers,
  });
  return {
    register,
    answered: (operation: string, status: number, seconds: number): void =>
      answers.observe({ operation, status }, seconds),
    /** A round trip to the view store has ended. */
    read: (operation: string, seconds: number): void => reads.observe({ operation }, seconds),
    watchCache(cache: Pick<ViewCache, 'bytes' | 'hits' | 'misses'>): void {
      new Gauge({
        name: 'ride_calendar_cache_bytes',
        help: 'Views kept in this process',
        registers,
        collect() {
          this.set(cache.bytes);
        },
      });
      new Counter({
        name: 'ride_calendar_cache_reads_total',
        help: 'Views looked up: hit, in this process; miss, in the view store',
        labelNames: ['result'],
        registers,
        collect() {
          this.reset();
          this.inc({ result: 'hit' }, cache.hits);
          this.inc({ result: 'miss' }, cache.misses);
        },
      });
    },
    /** A scrape calls `isAtRisk` at most once a minute, and shows what the last call returned: it never waits for the store. */
    watchSignInState(isAtRisk: () => Promise<boolean>, nowMs: () => number = Date.now): void {
      let askedMs = Number.NEGATIVE_INFINITY;
      let known: number | null = null;
      const ask = (): void => {
        if (nowMs() - askedMs < signInStateAskedEveryMs) return;
        askedMs = nowMs();
        void isAtRisk().then(
          (atRisk) => {
            known = atRisk ? 1 : 0;
          },
          // The store is away, which says nothing about its persistence.
          () => undefined,
        );
      };
      ask();
      new Gauge({
        name: 'ride_calendar_sign_in_state_at_risk',
        help: 'Whether a crash or restart of sign-in’s Redis would lose sign-ins: no persistence, or keys evicted',
        registers,
        collect() {
          ask();
          if (known !== null) this.set(known);
        },
      });
    },
    watchSignInStore(isAnswering: () => boolean): void {
      new Gauge({
        name: 'ride_calendar_sign_in_store_answers',
        help: 'Whether riders can sign in and apps refresh: 0 while sign-in’s Redis is away or takes no writes',
        registers,
        collect() {
          this.set(isAnswering() ? 1 : 0);
        },
      });
    },
    watchStore(isAnswering: () => Promise<boolean>): void {
      new Gauge({
        name: 'ride_calendar_store_answers',
        help: 'Whether reads can be answered just now: 0 while the view store is away or incomplete, and they get 503',
        registers,
        async collect() {
          this.set((await isAnswering()) ? 1 : 0);
        },
      });
    },
  };
}

export type ApiMetrics = ReturnType<typeof apiMetrics>;
