import { topicSchemas, topicTypes } from '../../schemas/avro/avro-types.ts';
import { fingerprintOf, singleObjectHeader } from '../../schemas/avro/single-object.ts';
import { topicNames } from '../../schemas/events/records.ts';
import type { Run } from '../cli/commands.ts';
import exampleRecords from './json-lines/example-records.json' with { type: 'json' };

/** What a producer needs of each topic: the fingerprint, the bytes in front of a value, an example. */
export const schemaRows = topicNames.map((topic) => {
  const type = topicTypes[topic];
  return {
    topic,
    fingerprint: fingerprintOf(type).toString(16).padStart(16, '0'),
    header: singleObjectHeader(type).toString('hex').replace(/^c301/, 'c301 '),
    ...exampleRecords[topic],
  };
});

/** Prints the schemas of the topics, with what stands in front of a value and an example record each. */
export const runSchemas: Run = async ({ json }, _settings, io) => {
  for (const { topic, fingerprint, header, key, value } of schemaRows) {
    const schema = topicSchemas[topic];
    if (json) io.out(JSON.stringify({ topic, fingerprint, header: header.replace(' ', ''), key, value, schema }));
    else {
      io.out(`${topic}  fingerprint ${fingerprint}, a value begins with ${header}`);
      io.out(`  example  ${JSON.stringify({ topic, key, value })}`);
      io.out(`  schema   ${JSON.stringify(schema)}`);
    }
  }
  return 0;
};
