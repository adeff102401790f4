import avro from 'avsc';
import { expect, test } from 'vitest';
import { selfContainedSchema } from '../../../infra/registry/self-contained-schema.ts';
import { parseWriter } from '../../../schemas/avro/avro-types.ts';

const kind = { type: 'enum', name: 'Kind', namespace: 'a.b', symbols: ['X', 'Y'] };
const plain = { type: 'fixed', name: 'a.Plain', size: 2 };
const inner = {
  type: 'record',
  name: 'a.Inner',
  fields: [
    { name: 'kind', type: 'a.b.Kind' },
    { name: 'next', type: ['null', 'Inner'], default: null },
  ],
};
const outer = {
  type: 'record',
  name: 'Outer',
  namespace: 'a',
  doc: 'Inner',
  fields: [
    { name: 'Inner', type: 'Inner', doc: 'a.Inner' },
    { name: 'all', type: { type: 'array', items: 'a.Inner' } },
    { name: 'by', type: { type: 'map', values: ['null', 'a.b.Kind'] } },
    { name: 'plain', type: 'Plain' },
    { name: 'text', type: 'string', default: 'Inner' },
  ],
};

test('a schema with what it names written out describes the same bytes', () => {
  const references = [kind, plain, inner].map((one) => JSON.stringify(one));
  const text = selfContainedSchema(JSON.stringify(outer), references);
  const value = {
    Inner: { kind: 'X', next: { 'a.Inner': { kind: 'Y', next: null } } },
    all: [{ kind: 'Y', next: null }],
    by: { k: { 'a.b.Kind': 'X' } },
    plain: Buffer.from('ab'),
    text: 'Inner',
  };
  const alone = avro.Type.forSchema(JSON.parse(text), { wrapUnions: true });
  const together = parseWriter(JSON.stringify(outer), references);
  expect(alone.toBuffer(value)).toEqual(together.toBuffer(value));
  expect(JSON.stringify(alone.schema())).toBe(JSON.stringify(together.schema()));
});

test('a schema that names no others stays as it is', () => {
  expect(selfContainedSchema('{ "type":"string" }', [])).toBe('{ "type":"string" }');
});
