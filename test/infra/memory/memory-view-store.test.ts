import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { viewStoreContract } from '../../contracts/view-store.ts';

viewStoreContract('memory', async () => {
  const store = new MemoryViewStore();
  return {
    writer: async () => store.writer(),
    reader: () => store.reader(),
    empty: async () => store.empty(),
    close: async () => {},
  };
});
