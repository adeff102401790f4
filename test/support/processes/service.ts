import { type CalendarDeps, calendar } from '../../../api/calendar/calendar.ts';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { textOf } from '../../../api/messages/answer.ts';
import { noSuchRouteBody, refuse } from '../../../api/messages/refusals.ts';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { Intake } from '../../../projector/intake/intake.ts';
import type { LogBatch, Position, RejectSink } from '../../../projector/ports/event-log.ts';
import { noMetrics, type ProjectorMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { realClock } from '../../../projector/running/clock.ts';
import type { Log } from '../../../projector/running/log.ts';
import { PendingWrites } from '../../../projector/writing/pending-writes.ts';
import { Rounds } from '../../../projector/writing/rounds.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { byTopic, topicNames } from '../../../schemas/events/records.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { type CalendarRequest, pathOf } from '../../reference/requests.ts';
import { complete, lead } from '../stores/lead.ts';
import { MemoryEventLog } from '../stores/memory-event-log.ts';
import { toLogRecord } from '../worlds/histories.ts';
import { silentLog } from './heard.ts';

const baseUrl = 'http://127.0.0.1:8080/api';

/** Nothing is said and bad records are dropped, unless the test gives where to. */
interface ProjectingDeps {
  log?: Log;
  metrics?: ProjectorMetrics;
  sink?: RejectSink | null;
}

/** The projector's parts without its loop: the test says when a round is run. */
export async function projecting(
  writer: ViewWriter,
  fanOut: { inlineMax?: number; slice?: number } = {},
  { log = silentLog, metrics = noMetrics, sink = null }: ProjectingDeps = {},
) {
  const position = Object.fromEntries(topicNames.map((topic) => [topic, [0, 0, 0, 0]])) as Position;
  const fold = new Fold();
  const { facts } = fold;
  const barriers = new PositionBarriers(position);
  const pending = new PendingWrites({ fold, barriers, subscribe: () => () => {} }, { take() {} }, fanOut);
  pending.mark();
  const { signal } = new AbortController();
  const eventLog = new MemoryEventLog({ partitions: byTopic(() => 4), records: [] });
  const shared = { clock: realClock, log, signal, eventLog };
  const intake = new Intake({ fold, sink, barriers, metrics, ...shared });
  const lanes = new TagLanes({ writer, tags: allTags, onWritten() {}, onCompare() {}, ...shared });
  const rounds = new Rounds({ facts, pending, lanes, barriers, identity: null });
  intake.aside.begin();
  await lead(writer);
  const take = async (batch: LogBatch): Promise<void> => {
    await intake.take(batch);
    position[batch.topic][batch.partition] = batch.nextOffset;
  };
  /** Writes all that is marked, slow fan-outs to their end. */
  const settle = async (): Promise<void> => {
    for (let round = 0; round === 0 || !rounds.idle; round++) {
      if (round > 10_000) throw new Error('Rounds come to no end');
      await rounds.run(position);
    }
  };
  let offset = 0;
  return {
    fold,
    facts,
    mend: lanes.add.bind(lanes),
    lanes,
    rounds,
    position,
    take,
    settle,
    /** Takes records as if published one by one, and writes what they change. */
    async publish(records: readonly LoggedRecord[]): Promise<void> {
      for (const { topic, key, value } of records) {
        const record = toLogRecord({ topic, partition: 0, offset: offset++, timestampMs: 0, key, value });
        await take({ topic, partition: 0, records: [record], nextOffset: offset });
      }
      await settle();
    },
    async complete(): Promise<void> {
      await lanes.drain();
      await complete(writer, allTags);
    },
  };
}

/** What a request got: the same shape as the reference's answers. */
export interface Got {
  status: number;
  body: string;
  headers: Record<string, string>;
}

/** The interface over a view store, without HTTP. A bearer token is its rider's id; the developer key is always live. */
export function answering(reader: ViewReader, clockMs: () => number, cacheSeconds = 0) {
  const cache = new ViewCache(reader);
  const faults: unknown[] = [];
  const deps: CalendarDeps = {
    baseUrl,
    cache,
    calendarNowMs: clockMs,
    cacheSeconds,
    checker: { check: (token) => token },
    openApi: Buffer.from('{}'),
    onFault: (cause) => faults.push(cause),
  };
  const answers = calendar(deps);
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> => {
    const handled = answers({ method, url: `/api${path}`, headers });
    // As the HTTP application answers other targets.
    const answer = handled ? await handled.answer : refuse.notFound(noSuchRouteBody);
    if (faults.length > 0) throw faults[0];
    return { status: answer.status, body: textOf(answer), headers: answer.headers };
  };
  return {
    get,
    cache,
    ask: (request: CalendarRequest, key: string): Promise<Got> =>
      get(pathOf(request), 'rider' in request ? { authorization: `Bearer ${request.rider}` } : { 'x-api-key': key }),
  };
}
