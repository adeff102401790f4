/** A number of 64 bits, such as a record's timestamp or revision: a bigint where it is no safe integer. */
export type Long = number | bigint;

export const longOf = (value: bigint): Long =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;

/** In JSON, a number that is no safe integer is a decimal text. */
export const longInJson = (value: Long): number | string => (typeof value === 'bigint' ? String(value) : value);

const firstMs = Date.parse('0001-01-01T00:00:00Z');
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

/** A time in milliseconds as it is compared with others: within years 0001 to 9999 (docs/rules.md#timestamps). */
export const clampedMs = (ms: Long): number => (ms < firstMs ? firstMs : ms > lastMs ? lastMs : Number(ms));
