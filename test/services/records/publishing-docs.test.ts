import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { whyBad } from '../../../projector/intake/validator.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { readLine } from '../../../services/records/json-lines/json-line.ts';

const read = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
const page = read('publishing.md');
const examples = read('example-records.jsonl').trim().split('\n');

describe('docs/publishing.md', () => {
  const shown = [...page.matchAll(/^```jsonl\n([\s\S]*?)^```$/gm)].map(([, lines]) => lines!.trim().split('\n'));

  it('shows of each topic a good record, one of those to try, and its tombstone', () => {
    const all = shown.map((lines) => lines.map((line) => readLine(Buffer.from(line), 0)));
    expect(all.flat().map(whyBad).filter(Boolean)).toEqual([]);
    expect(all.map(([record]) => record!.topic).sort()).toEqual([...topicNames].sort());
    for (const [record, tombstone, ...others] of all)
      expect([tombstone!.topic, tombstone!.key, tombstone!.valueBytes, others]).toEqual([
        record!.topic,
        record!.key,
        null,
        [],
      ]);
    expect(shown.map(([line]) => line).filter((line) => !examples.includes(line!))).toEqual([]);
  });
});
