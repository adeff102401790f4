import { createHash, type Hash } from 'node:crypto';

/** To continue a hash, at most the records of this many offsets are read. */
const chunkOffsets = 65_536;

/** Where a partition's hash can be continued: the hash before the records from an offset on. */
export interface HashStart {
  chain: string;
  fromOffset: number;
}

/**
 * One hash over a partition's records, however they are divided into files (docs/rules.md#archive-manifest). Records
 * whose offset divided by 65,536 gives the same whole number are a chunk. The hash is the SHA-256 of: the hash before
 * the chunk, as lower-case hexadecimal (nothing before the first), and the chunk's records, each as `Archived` in
 * Avro's binary encoding.
 */
export class PartitionHash {
  #chain: string;
  #chunk = -1;
  #hash: Hash | null = null;
  /** Adjacent bytes that are not hashed yet. One long update is faster than many short ones. */
  #row: Buffer | null = null;
  #rowStart = 0;
  #rowEnd = 0;

  constructor(start: HashStart = { chain: '', fromOffset: 0 }) {
    this.#chain = start.chain;
  }

  /** Adds a record: `bytes` from `start` to `end`, which must not change until `settle`. */
  add(offset: number, bytes: Buffer, start: number, end: number): void {
    const chunk = Math.floor(offset / chunkOffsets);
    if (chunk !== this.#chunk) this.#begin(chunk);
    if (bytes !== this.#row || start !== this.#rowEnd) {
      this.settle();
      this.#row = bytes;
      this.#rowStart = start;
    }
    this.#rowEnd = end;
  }

  settle(): void {
    if (this.#row) this.#hash!.update(this.#row.subarray(this.#rowStart, this.#rowEnd));
    this.#row = null;
  }

  /** Empty if there is no record. */
  digest(): string {
    this.settle();
    return this.#hash ? this.#hash.copy().digest('hex') : this.#chain;
  }

  start(): HashStart {
    return { chain: this.#chain, fromOffset: Math.max(0, this.#chunk) * chunkOffsets };
  }

  #begin(chunk: number): void {
    this.#chain = this.digest();
    this.#hash = createHash('sha256').update(this.#chain);
    this.#chunk = chunk;
  }
}
