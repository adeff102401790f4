import { expect, test } from 'vitest';
import { causeChain, causeText } from '../../../infra/net/cause-chain.ts';

const full = new Error('disk full');
const failed = (message: string, cause: Error = full) => new Error(message, { cause });

test('an error is told with its causes in one line, but for one that it repeats; of several, all are in the chain', () => {
  const told = [failed('Cannot load'), failed('Cannot load: disk full'), 'odd'].map(causeText);
  expect(told).toEqual(['Cannot load: disk full', 'Cannot load: disk full', 'odd']);
  const chain = [...causeChain(failed('Cannot ask', new AggregateError([failed('one'), full], 'both')))];
  expect(chain.map(({ message }) => message)).toEqual(['Cannot ask', 'both', 'one', 'disk full', 'disk full']);
});
