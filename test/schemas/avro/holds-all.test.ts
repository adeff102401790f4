import type { Schema } from 'avsc';
import { describe, expect, test } from 'vitest';
import { parseOurs, parseWriter, topicSchemas, topicTypes } from '../../../schemas/avro/avro-types.ts';
import { holdsAll } from '../../../schemas/avro/holds-all.ts';
import { topicNames } from '../../../schemas/events/records.ts';

type Fields = { fields: { name: string; type: unknown; default?: unknown }[] };

/** The schema of rides, changed. */
function rides(change: (schema: Fields) => void) {
  const schema = structuredClone(topicSchemas.rides) as unknown as Fields;
  change(schema);
  return parseWriter(JSON.stringify(schema));
}
const ours = topicTypes.rides;
const record = (type: unknown, name = 'x') =>
  ({ type: 'record', name: 'R', fields: [{ name, type }] }) as unknown as Schema;
const holds = (writer: unknown, reader: unknown) =>
  holdsAll(parseWriter(JSON.stringify(record(writer))), parseOurs(record(reader)));

// docs/rules.md#raw-values
describe('what our record holds of a value', () => {
  test.each(topicNames)('is all of it where the writer has our schema of %s', (topic) => {
    expect(holdsAll(parseWriter(JSON.stringify(topicSchemas[topic])), topicTypes[topic])).toBe(true);
  });

  test('is all of it where the writer has fewer fields, or narrower ones', () => {
    expect(
      holdsAll(
        rides(({ fields }) => fields.splice(2, 1)),
        ours,
      ),
    ).toBe(true);
    expect(holds('int', 'long')).toBe(true);
    expect(holds('bytes', ['null', 'string'])).toBe(true);
    expect(holds(['null', 'string'], ['null', 'string'])).toBe(true);
    expect(holds({ type: 'array', items: 'string' }, { type: 'array', items: 'string' })).toBe(true);
  });

  test('is not all of it where the writer has more fields, at any depth', () => {
    expect(
      holdsAll(
        rides(({ fields }) => fields.push({ name: 'colour', type: 'string' })),
        ours,
      ),
    ).toBe(false);
    expect(
      holdsAll(
        rides(({ fields }) => fields.unshift({ name: 'colour', type: ['null', 'string'] })),
        ours,
      ),
    ).toBe(false);
    const inner = (names: string[]) => ({
      type: 'record',
      name: 'Inner',
      fields: names.map((name) => ({ name, type: 'string' })),
    });
    expect(holds(['null', inner(['a', 'b'])], ['null', inner(['a'])])).toBe(false);
    expect(holds({ type: 'array', items: inner(['a', 'b']) }, { type: 'array', items: inner(['a']) })).toBe(false);
    expect(holds({ type: 'map', values: inner(['a', 'b']) }, { type: 'map', values: inner(['a']) })).toBe(false);
  });

  test('is not all of it where a default stands for a symbol', () => {
    const colour = (symbols: string[], more = {}) => ({ type: 'enum', name: 'Colour', symbols, ...more });
    expect(holds(colour(['RED', 'BLUE']), colour(['RED', 'OTHER'], { default: 'OTHER' }))).toBe(false);
    expect(holds(colour(['RED']), colour(['RED', 'OTHER'], { default: 'OTHER' }))).toBe(true);
  });

  test('is not all of it where a number loses digits', () => {
    expect(holds('long', 'float')).toBe(false);
    expect(holds('int', 'double')).toBe(true);
  });
});
