import { afterEach, expect, it } from 'vitest';
import { archiveEventLog } from '../../infra/archive/archive-event-log.ts';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { Projector } from '../../projector/projector.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { portlandDirectory } from '../support/portland.ts';
import { keyOf } from '../support/view-names.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Projects Portland's archive into a store; resolves once the views stand at its end. */
async function projected(store: MemoryViewStore, tags: readonly number[]): Promise<void> {
  const eventLog = archiveEventLog({ dir: portlandDirectory });
  const projector = new Projector({ eventLog, writer: store.writer(), rejects: null, log: silentLog, tags });
  const abort = new AbortController();
  const running = projector.run(abort.signal);
  stops.push(async () => {
    abort.abort();
    await running;
    await eventLog.close();
  });
  while (!projector.ready) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Everything stored, as text, but what says how far each projector is. */
async function dump(store: MemoryViewStore): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const reader = store.reader();
  for await (const view of store.writer().list(allTags)) {
    const key = keyOf(view.tag, view);
    if ('fields' in view) for (const [field, value] of view.fields!) found.set(`${key} ${field}`, value.toString());
    else found.set(key, (await reader.get([key]))[0]!.toString('latin1'));
  }
  return found;
}

it('projectors that divide the tags write together what one writes alone', async () => {
  const whole = new MemoryViewStore();
  const divided = new MemoryViewStore();
  await projected(whole, allTags);
  for (const shard of [0, 1, 2])
    await projected(
      divided,
      allTags.filter((tag) => tag % 3 === shard),
    );
  expect((await divided.reader().ready()).ready).toBe(true);
  const together = await dump(divided);
  expect(together.size).toBeGreaterThan(1_000);
  expect(together).toEqual(await dump(whole));
});
