import { createRequire } from 'node:module';
import { Kafka, logLevel } from 'kafkajs';
import type { KafkaConnection } from './kafka-client.ts';
import { registerKafkaCodecs } from './kafka-codecs.ts';
import type { KafkaLog } from './kafka-retry.ts';

/** The same complaint is told again only after this time. */
const quietMs = 60_000;

/** A kafkajs client, to write and administer with: it waits for brokers that are away, for ever, and says so in `log`. */
export function kafkaJs(kafka: KafkaConnection, log: KafkaLog): Kafka {
  registerKafkaCodecs();
  stopIdlePolling();
  return new Kafka({
    clientId: 'ride-calendar',
    brokers: kafka.brokers,
    ssl: kafka.ssl,
    ...(kafka.sasl ? { sasl: kafka.sasl as { mechanism: 'plain'; username: string; password: string } } : {}),
    connectionTimeout: 5_000,
    retry: { retries: Number.MAX_SAFE_INTEGER, initialRetryTime: 250, maxRetryTime: 5_000 },
    logLevel: logLevel.WARN,
    logCreator: () => logTo(log),
  });
}

function logTo(log: KafkaLog) {
  const toldMs = new Map<string, number>();
  return ({ log: { message, error } }: { log: { message: string; error?: unknown } }): void => {
    const text = `Kafka: ${message}${typeof error === 'string' ? `: ${error}` : ''}`;
    const nowMs = Date.now();
    // The texts are kafkajs's own, but some name numbers: don't keep them for ever.
    if (toldMs.size > 100) toldMs.clear();
    // A broker's own "not yet", as one gives that has just started, is worth a word only when it comes again.
    if (message.startsWith('Response ') && !toldMs.has(text)) {
      toldMs.set(text, Number.NEGATIVE_INFINITY);
      return;
    }
    if (nowMs - (toldMs.get(text) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
    toldMs.set(text, nowMs);
    log.warn(text);
  };
}

interface RequestQueue {
  throttledUntil: number;
  pending: unknown[];
}

let polls = true;

/**
 * kafkajs 2.2.4 plans its next look at an empty queue for a time long past, which newer Nodes complain about
 * (TimeoutNegativeWarning) and turn into a look every millisecond. An empty queue that isn't throttled needs none.
 */
function stopIdlePolling(): void {
  if (!polls) return;
  polls = false;
  const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js');
  const schedule = prototype.scheduleCheckPendingRequests as (this: RequestQueue) => void;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this);
  };
}
