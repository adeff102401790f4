import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { answersProperty } from './answers.ts';

// More where somebody asks for them: RUNS=5000 npx vitest run test/properties
const numRuns = Number(process.env.RUNS ?? 300);

answersProperty(
  'memory',
  async () => {
    const store = new MemoryViewStore();
    return { writer: store.writer(), reader: store.reader(), lateMs: 0, close: async () => {} };
  },
  numRuns,
);
