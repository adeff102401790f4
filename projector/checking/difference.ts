import { isOfOtherType, type StoredName, type StoredView, type ViewWrite } from '../ports/view-writer.ts';

/** One view that is not as the facts render it: a key, or a field of a rider's hash. */
export interface Difference {
  what: 'missing' | 'extra' | 'different' | 'wrong type';
  name: StoredName;
  /** Of a rider's hash; absent: all of the key. */
  field?: string;
}

/** What differs between what is stored, null for nothing, and what is right, given by the write that mends it. */
export function differencesOf(name: StoredName, stored: StoredView | null, write: ViewWrite): Difference[] {
  if (stored && isOfOtherType(stored)) return [{ what: isWanted(write) ? 'wrong type' : 'extra', name }];
  if (write.kind !== 'reader') {
    const before = stored && 'bytes' in stored ? stored.bytes : null;
    return differenceOf(name, before, write.value);
  }
  const fields = stored && 'fields' in stored ? stored.fields! : new Map<string, Buffer>();
  const rendered = new Map(write.fields.map(({ field, value }) => [field, value]));
  // Where the whole hash is replaced, what the write leaves out is extra, and what it has may be right.
  if (write.replaces) for (const field of fields.keys()) if (!rendered.has(field)) rendered.set(field, null);
  return [...rendered].flatMap(([field, value]) => {
    const found = differenceOf(name, fields.get(field) ?? null, value === null ? null : Buffer.from(value));
    return found.map((one) => ({ ...one, field }));
  });
}

const isWanted = (write: ViewWrite): boolean =>
  write.kind === 'reader' ? write.fields.length > 0 : write.value !== null;

/** Empty if the two are the same. */
function differenceOf(name: StoredName, stored: Buffer | null, rendered: Buffer | null): Difference[] {
  if (rendered === null) return [{ what: 'extra', name }];
  if (stored === null) return [{ what: 'missing', name }];
  return stored.equals(rendered) ? [] : [{ what: 'different', name }];
}
