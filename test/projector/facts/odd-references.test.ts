import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { compareStored } from '../../../projector/checking/comparison.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { projecting } from '../../support/processes/service.ts';
import { recordKey, sampleRecords } from '../../support/worlds/records.ts';

// Fields that refer to others are not checked: whatever stands there must do no harm.
const odd = ['', '/', 'a/b', '|', 'day:', '{v1}', '\u0000', '🚲'];

// docs/rules.md#absent-references, #unchecked-references
describe('a ride', () => {
  it.each(odd)('whose metro and leader are %j is kept and shows nowhere', async (text) => {
    const store = new MemoryViewStore();
    const writer = store.writer();
    const projector = await projecting(writer);
    const { rides, nights } = sampleRecords;
    const night = {
      ...nights,
      ride: 'oddone',
      day: 16_000,
      meeting: { place_name: 'x', district: text, secret: false, show_neighbourhood: false },
    };
    projector.fold.apply('rides', recordKey('rides', 'oddone'), {
      ...rides,
      ride: 'oddone',
      metro: text,
      leaders: [text],
      posted: true,
    });
    projector.fold.apply('nights', recordKey('nights', 'oddone/2013-10-22'), night);
    await projector.settle();
    const differing = await compareStored(projector.facts, writer.list(allTags), allTags, projector.mend);
    expect(differing).toBe(0);
    const stored: string[] = [];
    for await (const { kind, id } of writer.list(allTags)) stored.push(`${kind}:${id}`);
    expect(stored).toEqual([]);
  });
});
