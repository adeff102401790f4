import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { writing } from '../../cli/draft-folder.ts';

/** Parquet types of columns: instants in milliseconds UTC, dates in days since 1970, times in milliseconds of a day. */
const types = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  flag: { type: 'BOOLEAN' },
  int: { type: 'INT32' },
  long: { type: 'INT64' },
  day: { type: 'INT32', converted_type: 'DATE' },
  time: { type: 'INT32', converted_type: 'TIME_MILLIS' },
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
} as const satisfies Record<string, Partial<SchemaElement>>;

type ColumnType = keyof typeof types;
export interface Column {
  name: string;
  type: ColumnType;
}
export const column = (name: string, type: ColumnType = 'text'): Column => ({ name, type });
export const texts = (...names: string[]): Column[] => names.map((name) => column(name));

export type Cell = string | number | bigint | boolean | null;

export interface WrittenTable {
  file: string;
  rows: number;
  sha256: string;
}

const groupRows = 50_000;

/** Writes one Parquet file, row by row. One group of rows is in memory. */
export class ParquetTable {
  readonly #path: string;
  readonly #columns: readonly Column[];
  readonly #fd: number;
  readonly #hash = createHash('sha256');
  // Used in place of the library's file writer, which opens the file again for each piece and never syncs it.
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;
  #cells: Cell[][];
  #rows = 0;

  constructor(path: string, columns: readonly Column[]) {
    this.#path = path;
    this.#columns = columns;
    this.#fd = writing(path, () => openSync(path, 'wx'));
    this.#bytes.finish = () => this.#flush();
    const schema = [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, type }) => ({ name, repetition_type: 'OPTIONAL', ...types[type] })),
    ] as SchemaElement[];
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema, createdBy: 'ride-calendar' });
    this.#cells = columns.map(() => []);
  }

  add(row: readonly Cell[]): void {
    for (const [i, column] of this.#cells.entries()) column.push(row[i]!);
    this.#rows++;
    if (this.#cells[0]!.length >= groupRows) this.#writeGroup();
  }

  /** Ends the file. It is durable then. */
  end(): WrittenTable {
    this.#writeGroup();
    this.#writer.finish();
    writing(this.#path, () => fsyncSync(this.#fd));
    return { file: basename(this.#path), rows: this.#rows, sha256: this.#hash.digest('hex') };
  }

  /** Closes the file. If it was not ended, it stays incomplete. */
  close(): void {
    closeSync(this.#fd);
  }

  #writeGroup(): void {
    if (this.#cells[0]!.length === 0) return;
    const columnData = this.#columns.map(({ name }, i) => ({ name, data: this.#cells[i]! }));
    this.#writer.write({ columnData, rowGroupSize: groupRows });
    this.#flush();
    this.#cells = this.#columns.map(() => []);
  }

  #flush(): void {
    const bytes = new Uint8Array(this.#bytes.buffer, 0, this.#bytes.index);
    this.#hash.update(bytes);
    writing(this.#path, () => {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    });
    this.#bytes.index = 0;
  }
}
