import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { whyBad } from '../../../projector/intake/validator.ts';
import { topicTypes } from '../../../schemas/avro/avro-types.ts';
import { singleObjectHeader } from '../../../schemas/avro/single-object.ts';
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
      expect([tombstone!.topic, tombstone!.key, tombstone!.value, others]).toEqual([
        record!.topic,
        record!.key,
        null,
        [],
      ]);
    expect(shown.map(([line]) => line).filter((line) => !examples.includes(line!))).toEqual([]);
  });

  it('has the ten bytes before each topic’s values', () => {
    const rows = [...page.matchAll(/^\| `([a-z-]+)` \| `(c301 [0-9a-f]{16})` \|$/gm)].map(([, ...row]) => row);
    const headers = topicNames.map((topic) => [topic, singleObjectHeader(topicTypes[topic]).toString('hex')]);
    expect(rows).toEqual(headers.map(([topic, hex]) => [topic, hex!.replace('c301', 'c301 ')]));
  });

  it('names the example’s developer key, whose hash is in the log', async () => {
    const [, key] = /X-Api-Key: (rck_[\w-]{43})'/.exec(page)!;
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(key!))).toString('hex');
    expect(examples.join()).toContain(`"key_hash":"${hash}"`);
  });
});
