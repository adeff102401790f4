import type { IHeaders } from 'kafkajs';
import type { RecordHeader } from '../../projector/ports/event-log.ts';

/**
 * Headers as kafkajs takes them. It wants an object, which would sort names that are numbers to the front and move
 * headers of one name together, and it can't measure a null value. So all headers go under one name as a list whose
 * `map`, which kafkajs calls with what it makes of each value, gives them as they are. The list's own items are there to
 * be measured.
 */
export function kafkaHeaders(headers: readonly RecordHeader[]): IHeaders {
  const sized = headers.flatMap(({ key, value }) => [key, value ?? '']);
  return { headers: Object.assign(sized, { map: () => headers.map(encodable) }) };
}

/** kafkajs asks a null value for its length before it looks whether it is null: the first answer is an empty one. */
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
