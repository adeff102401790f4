import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { keyOf } from './view-names.ts';

/** Every view of a store as text: `key` or `key field` → its bytes in latin1. Not the position nor `complete`, which are no facts. */
export async function dumpViews(store: { writer(): ViewWriter }): Promise<Map<string, string>> {
  const dump = new Map<string, string>();
  for await (const stored of store.writer().list(allTags, true)) {
    const key = keyOf(stored.tag, stored);
    if (stored.kind === 'complete') continue;
    if (!('fields' in stored)) dump.set(key, stored.bytes!.toString('latin1'));
    else for (const [field, value] of stored.fields!) dump.set(`${key} ${field}`, value.toString('latin1'));
  }
  return new Map([...dump].sort(([a], [b]) => (a < b ? -1 : 1)));
}
