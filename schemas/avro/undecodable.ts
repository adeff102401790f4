/** Why a batch of records is bad as a whole (docs/rules.md#bad-batches). It counts as one record without a key. */
const batchFaults = ['batch too large', 'unreadable batch'] as const;
export type BatchFault = (typeof batchFaults)[number];

export const isBatchFault = (reason: unknown): reason is BatchFault => batchFaults.includes(reason as BatchFault);

/**
 * Why a record cannot be decoded. A fixed set, because these are the reasons in `rejected` and labels of a metric.
 * Never any of the record's content.
 */
export const undecodableReasons = [
  ...batchFaults,
  'no key',
  'key is not UTF-8',
  'not Avro',
  'unknown fingerprint',
  'unknown schema id',
  'unusable writer schema',
  'incompatible writer schema',
  'unknown enum symbol',
  'number out of range',
  'text is not UTF-8',
  'too many steps to decode',
  'nested too deeply',
  'undecodable value',
  'trailing bytes',
] as const;

export type UndecodableReason = (typeof undecodableReasons)[number];

/** Why a record without a key is bad: its batch's fault, if that stands in place of its value's decoder. */
export const keylessReason = (decoder: object | UndecodableReason | null): UndecodableReason =>
  isBatchFault(decoder) ? decoder : 'no key';

/** Thrown while a value is decoded. Each reason has one frozen instance, so a flood of bad records costs no stack traces. */
export class UndecodableError extends Error {
  override name = 'UndecodableError';
  readonly reason: UndecodableReason;

  constructor(reason: UndecodableReason) {
    super(reason);
    this.reason = reason;
  }
}

const instances = new Map(undecodableReasons.map((reason) => [reason, Object.freeze(new UndecodableError(reason))]));

/** The error for a reason. Its stack does not say where it was thrown. */
export function undecodable(reason: UndecodableReason): UndecodableError {
  return instances.get(reason)!;
}

/** The reason of an error that decoding threw. */
export function reasonOf(error: unknown): UndecodableReason {
  return error instanceof UndecodableError ? error.reason : 'undecodable value';
}
