import type { IHeaders } from 'kafkajs';
import type { RecordHeader } from '../../projector/ports/event-log.ts';

/**
 * Headers as kafkajs takes them. It wants an object, which would move headers with numeric names to the front and group
 * headers of one name, and it cannot measure a null value. So all headers are given under one name, as a list whose
 * `map` returns them unchanged: kafkajs calls `map` to encode each value. The items of the list itself are there only
 * to be measured.
 */
export function kafkaHeaders(headers: readonly RecordHeader[]): IHeaders {
  const sized = headers.flatMap(({ key, value }) => [key, value ?? '']);
  return { headers: Object.assign(sized, { map: () => headers.map(encodable) }) };
}

/** kafkajs takes a value's length before it checks for null. So the first read returns an empty value. */
function encodable({ key, value }: RecordHeader): object {
  if (value !== null) return { key, value };
  let asked = false;
  return {
    key,
    get value() {
      if (asked) return null;
      asked = true;
      return '';
    },
  };
}
