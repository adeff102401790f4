import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { answer, isLive, type ReferenceAnswer } from '../reference/answers.ts';
import { evening, liveKey } from '../reference/example-log.ts';
import { type LoggedRecord, latestRecords } from '../reference/facts.ts';
import type { NightAnswer } from '../reference/nights.ts';
import type { CalendarRequest, DayFilters } from '../reference/requests.ts';
import { answering, type Got, projecting } from '../support/processes/service.ts';
import { toLogRecord } from '../support/worlds/histories.ts';

/** Who answers the examples, given a log: the reference, and the service itself. */

type Ask = (log: readonly LoggedRecord[], request: CalendarRequest, now?: string) => Promise<ReferenceAnswer>;

export interface Answerer {
  name: string;
  asked: Ask;
  /** The answer's body, parsed; the request must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: examples reach into answers of every shape.
  told(...question: Parameters<Ask>): Promise<any>;
  /** The nights of metro `pdx` on a day. */
  nightsOn(log: readonly LoggedRecord[], day: string, filters?: DayFilters, now?: string): Promise<NightAnswer[]>;
  /** Whether a public read takes a developer key. */
  takesKey(log: readonly LoggedRecord[], keyText: string): Promise<boolean>;
}

function answerer(name: string, asked: Ask, takesKey: Answerer['takesKey']): Answerer {
  const told: Answerer['told'] = async (log, request, now) => {
    const found = await asked(log, request, now);
    if (found.status !== 200) throw new Error(`Cannot read the answer to ${request.operation}: it is ${found.status}.`);
    return JSON.parse(found.body);
  };
  const nightsOn: Answerer['nightsOn'] = async (log, day, filters, now) =>
    (await told(log, { operation: 'getDay', metro: 'pdx', day, ...filters }, now)).nights;
  return { name, asked, told, nightsOn, takesKey };
}

/** Works every answer out from the facts (test/reference). */
const reference = answerer(
  'the reference',
  async (log, request, now = evening) => answer(latestRecords([...log]), Date.parse(now), request),
  async (log, keyText) => isLive(latestRecords([...log]), keyText),
);

/** The projector's parts write views into memory, and the API answers from them. */
async function service(log: readonly LoggedRecord[], now = evening) {
  const store = new MemoryViewStore();
  const projector = await projecting(store.writer());
  for (const [offset, { topic, key, value }] of log.entries()) {
    const record = toLogRecord({ topic, partition: 0, offset, timestampMs: 0, key, value });
    await projector.take({ topic, partition: 0, records: [record], nextOffset: offset + 1 });
  }
  await projector.settle();
  await projector.complete();
  return answering(store.reader(), () => Date.parse(now));
}

const someKey = 'some key';

/** As the reference has it, which knows no refusal's `detail`. */
function inWordsOfReference({ status, body }: Got): ReferenceAnswer {
  if (status === 200) return { status, body };
  if (body === '') return { status } as ReferenceAnswer;
  const { detail: _, ...refused } = JSON.parse(body);
  return { status, ...refused };
}

const theService = answerer(
  'the service',
  async (log, request, now) => {
    const { ask } = await service([liveKey(someKey), ...log], now);
    return inWordsOfReference(await ask(request, someKey));
  },
  async (log, keyText) => {
    const { ask } = await service(log);
    return (await ask({ operation: 'getRide', ride: 'nosuchride' }, keyText)).status !== 401;
  },
);

export const answerers: readonly Answerer[] = [reference, theService];
