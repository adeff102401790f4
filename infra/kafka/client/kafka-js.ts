import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { type ISocketFactory, Kafka, logLevel } from 'kafkajs';
import type { Log } from '../../../projector/running/log.ts';
import { onAbort } from '../../../projector/running/stop.ts';
import { noting } from '../../net/certificate-ends.ts';
import type { KafkaConnection } from './kafka-connection.ts';

/** The same message is logged again only after this time. */
const quietMs = 60_000;

/**
 * A kafkajs client, to write and administer with. It waits for brokers that are away, without limit, and logs that in
 * `log`. When the signal aborts, its connections end, and it retries nothing more, silently. Callers await it with
 * `race`, because a pause before its last retry may take 5 s.
 */
export const kafkaJs = (kafka: KafkaConnection, log: Log, signal: AbortSignal): Kafka =>
  new Kafka({
    clientId: 'ride-calendar',
    brokers: kafka.brokers,
    ssl: kafka.ssl && noting('KAFKA_BROKERS'),
    ...(kafka.sasl ? { sasl: kafka.sasl as { mechanism: 'plain'; username: string; password: string } } : {}),
    connectionTimeout: 5_000,
    retry: { retries: retriesUntil(signal), initialRetryTime: 250, maxRetryTime: 5_000 },
    socketFactory: socketsUntil(signal),
    logLevel: logLevel.WARN,
    logCreator: () => logTo(log, signal),
  });

/** kafkajs compares its number of tries with this before each pause. There is no other way to stop it. */
const retriesUntil = (signal: AbortSignal): number =>
  ({ valueOf: () => (signal.aborted ? 0 : Number.MAX_SAFE_INTEGER) }) as unknown as number;

/** Sockets for kafkajs, ended with an error: after an end without one kafkajs goes on waiting for replies. */
function socketsUntil(signal: AbortSignal): ISocketFactory {
  const makeSocket: ISocketFactory = fromKafkaJs('network/socketFactory.js')();
  return (options) => {
    const socket = makeSocket(options);
    const end = () => socket.destroy(new Error('the client is closed'));
    return socket.once('close', onAbort(signal, end));
  };
}

function logTo(log: Log, signal: AbortSignal) {
  const toldMs = new Map<string, number>();
  return ({ log: { message, error } }: { log: { message: string; error?: unknown } }): void => {
    if (signal.aborted) return;
    const text = `Kafka: ${message}${typeof error === 'string' ? `: ${error}` : ''}`;
    const nowMs = performance.now();
    // The texts are kafkajs's own, but some contain numbers, so the map must not grow without limit.
    if (toldMs.size > 100) toldMs.clear();
    // A broker that has just started answers "not yet". That is worth logging only if it happens again.
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
  pending: unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}

/** kafkajs's own pause before it checks requests that had to wait. */
const pendingCheckMs = 10;

/**
 * kafkajs 2.2.4 schedules its next check of an empty queue for a time long past. Newer Node versions warn about that
 * (TimeoutNegativeWarning, on people's terminals) and turn it into a check every millisecond. An empty queue that is
 * not throttled needs no check, and no other check is scheduled in the past.
 */
Object.assign(fromKafkaJs('network/requestQueue/index.js').prototype, {
  scheduleCheckPendingRequests(this: RequestQueue) {
    if (this.throttleCheckTimeoutId !== null) return;
    // By the wall clock, as kafkajs keeps it.
    const throttledMs = this.throttledUntil - Date.now();
    if (this.pending.length === 0 && throttledMs <= 0) return;
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : pendingCheckMs,
    );
  },
});

/** kafkajs itself compresses with gzip only. Its encoder has the bytes in `buffer`. */
const zstd = {
  compress: ({ buffer }: { buffer: Buffer }) => promisify(zstdCompress)(buffer),
  decompress: (buffer: Buffer) => promisify(zstdDecompress)(buffer),
};
Object.assign(kafkajs.CompressionCodecs, { [kafkajs.CompressionTypes.ZSTD]: () => zstd });

function fromKafkaJs(path: string) {
  return createRequire(import.meta.url)(`kafkajs/src/${path}`);
}
