import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import type { ReferenceAnswer } from '../reference/answers.ts';
import { evening, liveKey } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import type { NightAnswer } from '../reference/nights.ts';
import type { CalendarRequest, DayFilters } from '../reference/requests.ts';
import { answering, projecting } from '../support/processes/service.ts';

/** The service answers the examples, given a log: the projector's parts write views into memory, and the API answers. */

async function service(log: readonly LoggedRecord[], now = evening) {
  const store = new MemoryViewStore();
  const projector = await projecting(store.writer());
  await projector.publish(log);
  await projector.complete();
  return answering(store.reader(), () => Date.parse(now));
}

const someKey = 'some key';

/** The answer, as test/reference has it: it knows no refusal's `detail`. */
export async function asked(
  log: readonly LoggedRecord[],
  request: CalendarRequest,
  now?: string,
): Promise<ReferenceAnswer> {
  const { ask } = await service([liveKey(someKey), ...log], now);
  const { status, body } = await ask(request, someKey);
  if (status === 200) return { status, body };
  const { detail: _, ...refused } = body === '' ? {} : JSON.parse(body);
  return { status, ...refused };
}

/** The answer's body, parsed; the request must succeed. */
// biome-ignore lint/suspicious/noExplicitAny: examples reach into answers of every shape.
export async function told(...[log, request, now]: Parameters<typeof asked>): Promise<any> {
  const found = await asked(log, request, now);
  if (found.status !== 200) throw new Error(`Cannot read the answer to ${request.operation}: it is ${found.status}.`);
  return JSON.parse(found.body);
}

/** The nights of metro `pdx` on a day. */
export const nightsOn = async (
  log: readonly LoggedRecord[],
  day: string,
  filters: DayFilters = {},
  now?: string,
): Promise<NightAnswer[]> => (await told(log, { operation: 'getDay', metro: 'pdx', day, ...filters }, now)).nights;

/** Whether a public read takes a developer key. */
export async function takesKey(log: readonly LoggedRecord[], keyText: string): Promise<boolean> {
  const { ask } = await service(log);
  return (await ask({ operation: 'getRide', ride: 'nosuchride' }, keyText)).status !== 401;
}
