import { expect, test } from 'vitest';
import { memoryIn } from '../../../infra/redis/redis-memory.ts';

// docs/rules.md#fill
test.each([
  ['its maxmemory', 7, 9, 7],
  ['without one, the memory of its machine', 0, 9, 9],
  ['none that is known', 0, 0, Number.POSITIVE_INFINITY],
])('the limit of a Redis is %s', (_, max, machine, limitBytes) => {
  const info = `# Memory\r\nused_memory:5\r\ntotal_system_memory:${machine}\r\nmaxmemory:${max}\r\n`;
  expect(memoryIn(info)).toEqual({ usedBytes: 5, limitBytes });
});
