import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { latestRecords } from '../reference/facts.ts';
import { differencesAfter, questionsOf } from '../support/processes/calendar-answers.ts';
import { Processes } from '../support/processes/process.ts';
import { freshGroup, freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { readPortland } from '../support/worlds/portland.ts';

const processes = new Processes();
afterAll(() => processes.close());

it('what simulate publishes while start projects it from Kafka into Redis is answered, once it stops, as the reference does from the log that archive save reads back', async () => {
  const kafka = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix(), KAFKA_GROUP: freshGroup() };
  expect(await processes.run(['topics', '--partitions', '3'], kafka)).toMatchObject({ code: 0 });
  const views = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  const tokens = await riderTokens(await processes.folder());
  const now = `${new Date().toISOString().slice(0, 10)}T12:00:00Z`;
  const service = await processes.start('start', { ...kafka, ...views, NOW: now, ...tokens.env });
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
