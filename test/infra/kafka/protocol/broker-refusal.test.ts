import { expect, it } from 'vitest';
import { hintOf, namingRight, refusalOf } from '../../../../infra/kafka/protocol/broker-refusal.ts';

const coded = (code: object) => new Error('it failed', { cause: Object.assign(new Error('refused'), code) });
const sasl = 'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD';

it.each([
  ['SASL_AUTHENTICATION_FAILED', `Kafka refuses the credentials; check ${sasl}`],
  ['UNSUPPORTED_SASL_MECHANISM', `Kafka refuses the credentials; check ${sasl}`],
  ['ILLEGAL_SASL_STATE', `Kafka takes no credentials there; leave ${sasl} out, or check the port`],
  ['NOT_LEADER_OR_FOLLOWER', null],
])('%s is refused for good: %s', (apiId, words) => {
  expect(refusalOf(coded({ apiId }), 'Kafka')).toBe(words);
});

it.each(['TOPIC', 'GROUP', 'CLUSTER', 'TRANSACTIONAL_ID'])(
  'a right that lacks by %s is named, by either library',
  (what) => {
    const code = `${what}_AUTHORIZATION_FAILED`;
    const named = 'the user of KAFKA_SASL_USERNAME lacks Read on x; grant it with kafka-acls.sh';
    for (const error of [{ apiId: code }, { type: code }, { errors: [new Error('other'), coded({ type: code })] }])
      expect(refusalOf(namingRight(coded(error), 'Read on x'), 'Kafka')).toBe(named);
  },
);

it('a connection that is closed without a word has a hint, and no other', () => {
  const errors = [new Error('Connection closed'), ...['ECONNRESET', 'ECONNREFUSED'].map((code) => coded({ code }))];
  const hint = ' (if it goes on: check KAFKA_SSL, and KAFKA_SASL_MECHANISM and what belongs to it)';
  expect(errors.map(hintOf)).toEqual([hint, hint, '']);
});
