import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { latestRecords } from '../reference/facts.ts';
import { differencesAfter, questionsOf } from '../support/processes/calendar-answers.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { freshGroup, freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { deleteAll, storedViews, viewDifferences } from '../support/stores/redis-dump.ts';
import { readPortland } from '../support/worlds/portland.ts';

// A log that grows while it is projected.

const processes = new Processes();
afterAll(() => processes.close());

const freshTopics = (): Env => ({
  KAFKA_BROKERS: kafkaBrokers(),
  KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
  KAFKA_GROUP: freshGroup(),
});
const freshViews = () => ({ REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() });

async function makeTopics(env: Env): Promise<void> {
  expect(await processes.run(['topics', '--partitions', '3'], env)).toMatchObject({ code: 0 });
}

describe('simulate, while start projects it from Kafka into Redis', () => {
  it('is answered, once it stops, as the reference does from the log that archive save reads back', async () => {
    const kafka = freshTopics();
    await makeTopics(kafka);
    const tokens = await riderTokens(await processes.folder());
    const now = `${new Date().toISOString().slice(0, 10)}T12:00:00Z`;
    const service = await processes.start('start', { ...kafka, ...freshViews(), NOW: now, ...tokens.env });
    await service.printed('Ctrl-C stops it.');
    const sizes = ['--metros', '3', '--rides', '30', '--riders', '60', '--days', '30', '--seed', '11'];
    const startMs = performance.now();
    const simulated = await processes.run(['simulate', '--rate', '50', '--count', '300', '--json', ...sizes], kafka);
    // No more changes than the rate allows.
    expect(performance.now() - startMs).toBeGreaterThan(5_900);
    expect(simulated).toMatchObject({ code: 0, err: '' });
    const { developerKey, rider, changes } = JSON.parse(simulated.out) as Record<string, string>;
    expect(changes).toBe(300);

    const saved = join(await processes.folder(), 'saved');
    expect(await processes.run(['archive', 'save', saved], kafka)).toMatchObject({ code: 0 });
    const facts = latestRecords(await readPortland(saved, kafka.KAFKA_TOPIC_PREFIX));
    const asked = await tokens.of(rider!, ...[...facts.riders.keys()].slice(0, 3));
    const questions = questionsOf(facts, Date.parse(now), {
      key: developerKey!,
      deadKeys: ['nonsense'],
      tokens: asked,
    });
    expect(questions.length).toBeGreaterThan(100);
    expect((await differencesAfter(service.api, questions, 10_000)).slice(0, 5)).toEqual([]);
    const metrics = await (await fetch(`${service.origin}/metrics`)).text();
    expect(metrics).toMatch(/ride_calendar_freshness_seconds_count [1-9]/);
    expect(metrics).toContain('ride_calendar_projector_ready 1');
    expect(await service.stop()).toMatchObject({ code: 0 });
  }, 90_000);
});

describe('a projector killed in the middle of a load', () => {
  const kafka = freshTopics();
  const views = freshViews();
  /** Milliseconds from each start of the projector to its death. */
  const livesMs = Array.from({ length: 6 }, () => Math.round(300 + Math.random() * 1_700));
  beforeAll(async () => {
    await makeTopics(kafka);
  });

  it('again and again, leaves in the end the views of one that was never killed, and no other key', async () => {
    const sizes = ['--metros', '3', '--rides', '250', '--riders', '1500', '--days', '60', '--seed', '5'];
    const loading = processes.run(['simulate', '--rate', '3000', '--count', '25000', ...sizes], kafka);
    for (const lifeMs of livesMs) {
      const projector = await processes.start('projector', { ...kafka, ...views });
      await sleep(lifeMs + 500);
      await projector.kill();
    }
    // An emptied Redis in the middle of it, too.
    const flushed = await processes.start('projector', { ...kafka, ...views });
    await flushed.printed('Folded up to');
    await deleteAll(redisUrl(), views.REDIS_KEY_PREFIX);
    await sleep(300);
    await flushed.kill();
    const loaded = await loading;
    expect(loaded).toMatchObject({ code: 0 });

    const last = await (await processes.start('projector', { ...kafka, ...views })).ready(60_000);
    const fresh = freshViews();
    const other = { ...kafka, ...fresh, KAFKA_GROUP: freshGroup() };
    const untouched = await (await processes.start('projector', other)).ready(60_000);
    expect([(await last.stop()).code, (await untouched.stop()).code]).toEqual([0, 0]);
    const [dump, wanted] = await Promise.all([
      storedViews(redisUrl(), views.REDIS_KEY_PREFIX),
      storedViews(redisUrl(), fresh.REDIS_KEY_PREFIX),
    ]);
    expect(wanted.size).toBeGreaterThan(2_000);
    expect(viewDifferences(wanted, dump).slice(0, 5), `killed after ${livesMs} ms`).toEqual([]);
  }, 180_000);
});
