import { leadershipContract } from '../contracts/leadership.ts';
import { viewStoreContract } from '../contracts/view-store.ts';
import { FencedStore } from './fenced-store.ts';

// The store of the tests keeps the promises that Redis keeps.
const fixture = async () => {
  const store = new FencedStore();
  return {
    writer: async () => store.writer(),
    reader: () => store.reader(),
    empty: async () => store.empty(),
    close: async () => {},
  };
};
viewStoreContract('the fenced store of the tests', fixture);
leadershipContract('the fenced store of the tests', fixture);
