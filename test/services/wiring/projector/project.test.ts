import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { archiveEventLog } from '../../../../infra/archive/archive-event-log.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import { noMetrics } from '../../../../projector/ports/metrics.ts';
import { nightKey } from '../../../../schemas/views/view-keys.ts';
import { project } from '../../../../services/wiring/projector/project.ts';
import { portlandDirectory } from '../../../support/portland.ts';

it('an archive whose files come one by one, in any order, is folded again, and nothing ends', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-late-'));
  await cp(portlandDirectory, dir, { recursive: true, filter: (path) => !path.includes('attendance') });
  const store = new MemoryViewStore();
  const stop = new AbortController();
  const opened = {
    eventLog: archiveEventLog({ dir, pollMs: 50 }),
    rejects: { publish: async () => 0, close: async () => {} },
    where: dir,
    madeUp: null,
  };
  const views = { writer: async () => store.writer(), reader: () => store.reader(), where: 'memory' };
  const log = pino({ level: 'silent' });
  const projecting = await project(opened, views, noMetrics, log, stop.signal);
  let ended = false;
  void projecting.done
    .catch(() => {})
    .finally(() => {
      ended = true;
    });
  const goingTo = async (): Promise<number> => {
    const [value] = await store.reader().get([nightKey('pp15r4935', '2015-06-13')]);
    return Number(/"going_count":(\d+)/.exec(value?.toString() ?? '')?.[1] ?? -1);
  };
  await expect.poll(goingTo, { timeout: 60_000 }).toBe(0);
  const attendance = join(portlandDirectory, 'ride-calendar.attendance');
  const late = join(dir, 'ride-calendar.attendance');
  // Last ones first: what comes then belongs before what is read.
  for (const name of (await readdir(attendance)).sort().reverse()) {
    await cp(join(attendance, name), join(late, name), { recursive: true });
    await setTimeout(100);
  }
  await expect.poll(goingTo, { timeout: 60_000 }).toBe(11);
  expect(ended).toBe(false);
  stop.abort();
  await projecting.done;
  await rm(dir, { recursive: true });
});
