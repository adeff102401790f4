import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { compareStored } from '../../../projector/checking/comparison.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { night, place, ride } from '../../reference/example-log.ts';
import { projecting } from '../../support/processes/service.ts';
import { applyTo } from '../../support/stores/rendered-views.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';

// Fields that refer to others are not checked: whatever stands there must do no harm.
const odd = ['', '/', 'a/b', '|', 'day:', '{v1}', '\u0000', '🚲'];

// docs/rules.md#absent-references, #unchecked-references
it.each(odd)('a ride whose metro, leader and district are %j is kept and shows nowhere', async (text) => {
  const store = new MemoryViewStore();
  const { fold, facts, settle, mend } = await projecting(store.writer());
  for (const record of [
    ride('oddone', { metro: text, leaders: [text] }),
    night('oddone', '2013-10-22', place({ place_name: 'x', district: text })),
  ])
    applyTo(fold, record);
  await settle();
  expect(await compareStored(facts, store.writer().list(allTags), allTags, mend)).toBe(0);
  expect(await dumpViews(store)).toEqual(new Map());
});
