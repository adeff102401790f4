import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { dumpViews } from '../support/stores/view-dump.ts';
import { privacyProperties } from './privacy.ts';

// More where somebody asks for them: RUNS=1000 npx vitest run test/properties/privacy
const numRuns = Number(process.env.RUNS ?? 40);

privacyProperties(
  'views in memory',
  async () => {
    const store = new MemoryViewStore();
    return { writer: store.writer(), reader: store.reader(), dump: () => dumpViews(store), close: async () => {} };
  },
  numRuns,
);
