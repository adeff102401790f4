/** Why a batch of records is bad as a whole (docs/rules.md#bad-batches). It counts as one record without a key. */
const batchFaults = ['batch too large', 'unreadable batch'] as const;
export type BatchFault = (typeof batchFaults)[number];

export const isBatchFault = (reason: unknown): reason is BatchFault => batchFaults.includes(reason as BatchFault);

/**
 * Kinds of reasons why a record cannot be decoded. A fixed set, because they are labels of a metric.
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

export type UndecodableKind = (typeof undecodableReasons)[number];

/** A kind, and after a colon what is known of it: the field, the rule, the schema. Never any of the record's content. */
export type UndecodableReason = UndecodableKind | `${UndecodableKind}: ${string}`;

/** The kind of a reason: a label of a metric. */
export const kindOf = (reason: string): string => reason.split(': ', 1)[0]!;

/** What a reason says beside its kind. */
export const detailOf = (reason: string): string => reason.slice(kindOf(reason).length + 2);

/** Why a record without a key is bad: its batch's fault, if that stands in place of its value's decoder. */
export const keylessReason = (decoder: object | UndecodableReason | null): UndecodableReason =>
  isBatchFault(decoder) ? decoder : 'no key';

/** Thrown while a value is decoded. Each place has one frozen instance, so a flood of bad records costs no stack traces. */
export class UndecodableError extends Error {
  override name = 'UndecodableError';
  readonly reason: UndecodableReason;

  constructor(reason: UndecodableReason) {
    super(reason);
    this.reason = reason;
  }
}

/** The error for a reason. Its stack does not say where it was thrown. */
export const undecodable = (reason: UndecodableReason): UndecodableError => Object.freeze(new UndecodableError(reason));

/** The reason of an error that decoding threw. */
export function reasonOf(error: unknown): UndecodableReason {
  return error instanceof UndecodableError ? error.reason : 'undecodable value';
}

/** No value of the writer's schema fits the reader's. */
export class IncompatibleSchemaError extends Error {
  override name = 'IncompatibleSchemaError';
  /** How deep the field lies that does not fit. */
  readonly depth: number;

  constructor(why: string, depth: number) {
    super(why);
    this.depth = depth;
  }
}
