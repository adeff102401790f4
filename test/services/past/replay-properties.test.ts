import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RecordClock, sourcesOf } from '../../../infra/archive/log/partition-cursor.ts';
import { PastAnswers } from '../../../services/past/answers/past-answers.ts';
import { type FoldedPast, foldPast } from '../../../services/past/log/past-fold.ts';
import { answer } from '../../reference/answers.ts';
import { latestRecords } from '../../reference/facts.ts';
import { type CalendarRequest, pathOf } from '../../reference/requests.ts';
import type { History } from '../../support/worlds/histories.ts';
import {
  type Chunking,
  chunkingArb,
  instantArb,
  pastArchive,
  pastLog,
  scenarioArb,
  timeOfHistory,
} from '../../support/worlds/past-archive.ts';
import { requestArb } from '../../support/worlds/request-arbs.ts';

const scenarios = scenarioArb((history, by) => ({
  atMs: instantArb(history, by),
  other: chunkingArb,
  requests: fc.array(requestArb(history), { minLength: 5, maxLength: 15, size: 'max' }),
}));

async function foldOf(history: History, chunking: Chunking, by: RecordClock, atMs: number): Promise<FoldedPast> {
  await using archive = await pastArchive(history, chunking);
  const { listing, bounds } = await pastLog(archive);
  return await foldPast(sourcesOf({ listing, bounds }, by), { atMs, signal: new AbortController().signal });
}

async function ask({ facts }: FoldedPast, requests: readonly CalendarRequest[], clockMs: number) {
  const answers = new PastAnswers(facts);
  const got = [];
  for (const request of requests) {
    const rider = 'rider' in request ? request.rider : null;
    got.push(shown(await answers.ask({ target: pathOf(request), rider }, clockMs)));
  }
  return got;
}

const shown = ({ status, body = '' }: { status: number; body?: string }) =>
  status === 200 ? { status, body } : status;

const numRuns = Number(process.env.RUNS ?? 12);

describe('the calendar as of an instant', { timeout: 600_000 }, () => {
  it('is what the records of a time at or before it say, and no other, however these are divided into partitions, files and blocks', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async ({ history, by, atMs, chunking, requests }) => {
        const counting = history.records.filter((record) => timeOfHistory(record, by) <= atMs);
        const facts = latestRecords(counting);
        const past = await foldOf(history, chunking, by, atMs);
        expect(past.records + past.bad).toBe(counting.length);
        const wanted = requests.map((request) => shown(answer(facts, atMs, request)));
        expect(await ask(past, requests, atMs)).toEqual(wanted);
      }),
      { numRuns },
    );
  });

  it('is again what it was, from its offsets, once the log has grown and has late records', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, fc.double({ min: 0, max: 1, noNaN: true }), async (scenario, share) => {
        const { history, by, atMs, chunking, other, requests } = scenario;
        const earlier = { ...history, records: history.records.slice(0, Math.floor(history.records.length * share)) };
        const before = await foldOf(earlier, chunking, by, atMs);
        await using archive = await pastArchive(history, other);
        const log = await pastLog(archive);
        const bounds = structuredClone(log.bounds);
        for (const topic of Object.keys(bounds) as (keyof typeof bounds)[]) {
          for (const [i, partition] of bounds[topic].entries()) {
            partition.end = Math.max(partition.low, before.offsets[topic][i]!);
          }
        }
        const signal = new AbortController().signal;
        const again = await foldPast(sourcesOf({ listing: log.listing, bounds }, by), { atMs, signal });
        expect(again.offsets).toEqual(before.offsets);
        expect(await ask(again, requests, atMs)).toEqual(await ask(before, requests, atMs));
      }),
      { numRuns },
    );
  });
});
