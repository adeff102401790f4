import { afterEach, describe, expect, it, vi } from 'vitest';
import { topicNames } from '../../../schemas/events/records.ts';
import { isCompleteKey, nightKey } from '../../../schemas/views/view-keys.ts';
import { answerHistory, type Version } from '../../../services/past/answer-history.ts';
import { FactsViewReader } from '../../../services/past/facts-view-reader.ts';
import { sourcesOf } from '../../../services/past/past-records.ts';
import { night, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import type { History } from '../../support/histories.ts';
import { PastArchive } from '../../support/past-archive.ts';
import { smallWorld } from '../../support/small-world.ts';

const { signal } = new AbortController();
const untilMs = smallWorld.nowMs;
const beganMs = untilMs - 86_400_000;

/** Records in the order of publication, a second after each other, in one partition of each topic. */
function historyOf(records: readonly LoggedRecord[]): History {
  const next = new Map<string, number>();
  const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as History['partitions'];
  const placed = records.map((record, i) => {
    const offset = next.get(record.topic) ?? 0;
    next.set(record.topic, offset + 1);
    return { ...record, partition: 0, offset, timestampMs: beganMs + i * 1000 };
  });
  return { today: Math.floor(untilMs / 86_400_000), partitions, records: placed as History['records'] };
}

async function versionsOf(records: readonly LoggedRecord[], target: string): Promise<Version[]> {
  using archive = await PastArchive.of(historyOf(records), { blockBytes: 2_000, fileBytes: 100_000, codec: 'null' });
  const { listing, bounds } = await archive.log();
  const sources = sourcesOf({ listing, bounds }, 'timestamp');
  const versions: Version[] = [];
  const request = { target, rider: smallWorld.reader };
  for await (const version of answerHistory(sources, request, { untilMs, signal })) versions.push(version);
  return versions;
}

const crowd = Array.from({ length: 20 }, (_, i) => `u${i}`);

describe('the history of a rider’s answer', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('renders again only the views that a record changed', async () => {
    const others = Array.from({ length: 20 }, (_, i) => `2015-06-${String(i + 1).padStart(2, '0')}`);
    const mine = others.flatMap((day) => [night('loop', day), says('ada', 'GOING', 'loop', day)]);
    const join = crowd.flatMap((id) => [rider(id), says(id, 'GOING', 'loop', '2015-06-13')]);
    const get = vi.spyOn(FactsViewReader.prototype, 'get');
    const versions = await versionsOf([...smallWorld.records, ...mine, ...join], '/me/nights');
    const joined = versions.filter(({ records }) => crowd.some((id) => records[0]?.key?.endsWith(id)));
    expect(joined).toHaveLength(crowd.length);
    const rendered = get.mock.calls.flatMap(([keys]) => keys.filter((key) => !isCompleteKey(key)));
    expect(rendered.slice(-crowd.length)).toEqual(crowd.map(() => nightKey('loop', '2015-06-13')));
  });

  it('is not asked for what a record of another day says', async () => {
    const elsewhere = crowd.flatMap((id) => [rider(id), says(id, 'GOING', 'loop', '2015-06-14')]);
    const bo = [says('bo', 'GOING', 'loop', '2015-06-14'), says('bo', 'NONE', 'loop', '2015-06-14')];
    const target = '/me/friends?metro=pdx&from=2015-06-13&to=2015-06-13';
    const fields = vi.spyOn(FactsViewReader.prototype, 'fields');
    const versions = await versionsOf(smallWorld.records, target);
    const asked = fields.mock.calls.length;
    fields.mockClear();
    expect(await versionsOf([...smallWorld.records, ...elsewhere, ...bo], target)).toHaveLength(versions.length);
    expect(fields.mock.calls.length).toBe(asked);
  });
});
