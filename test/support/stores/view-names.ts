import type { FieldsWrite, StoredView, ValueWrite, ViewWrite } from '../../../projector/ports/view-writer.ts';
import { parseKey, type RiderKind, type ValueKind } from '../../../schemas/views/view-kinds.ts';

/** A view's key, as readers ask for it. */
export const keyOf = (tag: number, { kind, id }: Pick<StoredView | ViewWrite, 'kind' | 'id'>): string =>
  `${tag}|${kind}:${id}`;

/** The write of a view whose value is one key, by that key. */
export function valueWrite(key: string, value: Buffer | null): ValueWrite {
  const { kind, id } = parseKey(key);
  return { kind: kind as ValueKind, id, value };
}

/** The write of some fields of a rider's hash, by its key. */
export function fieldsWrite(key: string, fields: Record<string, string | null>): FieldsWrite {
  const { kind, id } = parseKey(key);
  return { kind: kind as RiderKind, id, fields: Object.entries(fields).map(([field, value]) => ({ field, value })) };
}
