import { expect, it } from 'vitest';
import { GroupedLines } from '../../../../services/past/log/grouped-lines.ts';

it('lines by group come back as they were added, whether they fit into memory or not', () => {
  const lines = new GroupedLines();
  const groups = Array.from({ length: 5 }, () => ({ group: lines.group(), added: [] as string[] }));
  try {
    for (let i = 0; i < 100_000; i++) {
      // One is longer than all that is kept in memory.
      const line = `${i}\n${'…é'.repeat(i === 50_000 ? 3 << 20 : i % 150)}`;
      const into = groups.filter((_, number) => i % (number + 2) === 0);
      for (const { added } of into) added.push(line);
      lines.add(
        line,
        into.map(({ group }) => group),
      );
      if (i === 10) expect([...lines.of(groups[0]!.group)]).toEqual(groups[0]!.added);
    }
    for (const { group, added } of groups) {
      expect(group.written.length).toBeGreaterThan(1);
      expect([...lines.of(group)]).toEqual(added);
    }
  } finally {
    lines.close();
  }
});
