import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { needProgram } from '../../infra/local/debian-packages.ts';
import { Processes } from '../support/processes/process.ts';
import { ran } from '../support/processes/ran.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { freshRedis } from '../support/servers/backends.ts';
import { metroValue, TestKafka } from '../support/servers/kafka.ts';

// A wall clock that is wrong at a projector's start, and set right while it waits (docs/rules.md#clock, projector/SPEC.md P61).

const processes = testStack().use(new Processes());

const hourS = 3_600;
// Far more than a busy machine adds, and far less than the step.
const slackS = 60;

it('a wall clock an hour slow at the start, then an hour fast, and then set right, hides no wait and fakes none', async () => {
  await needProgram('faketime', 'faketime');
  const FAKETIME_TIMESTAMP_FILE = join(await processes.folder(), 'clock');
  const step = (seconds: number) => writeFile(FAKETIME_TIMESTAMP_FILE, `${seconds < 0 ? '' : '+'}${seconds}`);
  await step(-hourS);
  await using kafka = new TestKafka();
  await kafka.createTopics();
  const env = { ...kafka.env, ...freshRedis() };
  // Its monotonic clock goes on.
  const projector = await processes.start('projector', {
    ...env,
    LD_PRELOAD: globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]!,
    FAKETIME_TIMESTAMP_FILE,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  });
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${projector.origin}/metrics`)).text();
    return Number(new RegExp(`^ride_calendar_${name} (\\S+)$`, 'm').exec(text)![1]);
  };
  const age = () => metric('unreadable_age_seconds');
  const wait = () => metric('waiting_seconds\\{[^}]*for="transaction"[^}]*\\}');
  /** The age that `lag` says. On a busy machine it may not know. */
  const lag = async (): Promise<number> => {
    const { out } = await ran('lag --json', { ...env, LOG_LEVEL: 'error' });
    return JSON.parse(out[0]!).oldest_unreadable_age ?? 0;
  };
  /** How far its wall clock is off, as its answers say, in hours. */
  const offHours = async (): Promise<number> => {
    const { headers } = await fetch(`${projector.origin}/healthz`);
    return Math.round((Date.parse(headers.get('date')!) - Date.now()) / 1_000 / hourS) + 0;
  };
  await projector.ready();
  const transaction = await kafka.transaction();
  const openedMs = performance.now();
  const messages = [{ key: 'a', value: metroValue('a'), partition: 0 }];
  await transaction.send({ topic: `${kafka.topicPrefix}metros`, messages });
  for (const [off, overS] of [
    [-1, 1],
    [1, 2],
    [0, 3],
  ] as const) {
    await step(off * hourS);
    await expect.poll(offHours).toBe(off);
    // The age and the wait are over so many seconds soon, and no more than what has passed.
    for (const seconds of [age, wait, lag]) {
      await expect.poll(seconds, { interval: 200 }).toBeGreaterThan(overS);
      expect(await seconds()).toBeLessThan((performance.now() - openedMs) / 1_000 + slackS);
    }
  }
  await transaction.commit();
  await expect.poll(async () => [await age(), await wait()]).toEqual([0, 0]);
  expect((await projector.stop()).err).not.toContain('Reading the log again');
});
