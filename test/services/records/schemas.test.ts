import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { whyBad } from '../../../projector/intake/validator.ts';
import { topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { readLine } from '../../../services/records/json-lines/json-line.ts';
import { schemaRows } from '../../../services/records/schemas.ts';
import { ran } from '../../support/processes/ran.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const examples = read('docs/example-records.jsonl').trim().split('\n');

it('records schemas says what a value of each topic begins with, and examples that records publish takes', async () => {
  const { code, out } = await ran(['records', 'schemas', '--json']);
  expect({ code, topics: out.map((line) => JSON.parse(line).topic) }).toEqual({ code: 0, topics: topicNames });
  for (const line of out) {
    const { topic, header, key, value, schema } = JSON.parse(line);
    const record = readLine(Buffer.from(JSON.stringify({ topic, value })), 0);
    expect({ key: record.key, begins: record.valueBytes!.toString('hex', 0, 10) }).toEqual({ key, begins: header });
    expect(schema).toEqual(topicSchemas[topic as 'nights']);
    expect(whyBad(record)).toBe(null);
  }
  expect(schemaRows.find(({ topic }) => topic === 'nights')!.header).toBe('c301 2b0a3af49553c582');
});

it('docs/event-schemas.md has the same table, and docs/example-records.jsonl the same examples', () => {
  const rows = [...read('docs/event-schemas.md').matchAll(/^\| `([\w-]+)` \| `(\w{16})` \| `(c301 \w{16})` \|$/gm)];
  expect(rows.map((row) => row.slice(1))).toEqual(
    schemaRows.map(({ topic, fingerprint, header }) => [topic, fingerprint, header]),
  );
  const lines = examples.map((line) => JSON.parse(line));
  for (const { topic, key, value } of schemaRows) expect(lines).toContainEqual({ topic, key, value });
});

it('docs/publishing.md shows of each topic a good record, one of the examples, and its tombstone', () => {
  const blocks = [...read('docs/publishing.md').matchAll(/^```jsonl\n(.*)\n(.*)\n```$/gm)];
  const shown = blocks.map(([, record, tombstone]) => ({ record: record!, tombstone: JSON.parse(tombstone!) }));
  expect(shown.map(({ tombstone }) => tombstone.topic).sort()).toEqual([...topicNames].sort());
  for (const { record, tombstone } of shown) {
    const { topic, key } = readLine(Buffer.from(record), 0);
    expect(examples).toContain(record);
    expect(tombstone).toEqual({ topic, key, value: null });
  }
  expect(examples.map((line) => whyBad(readLine(Buffer.from(line), 0))).filter(Boolean)).toEqual([]);
});
