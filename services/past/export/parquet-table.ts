import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import type { SchemaElement, Writer } from 'hyparquet-writer';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writing } from './draft-folder.ts';

/**
 * Parquet types of columns. Instants are milliseconds in UTC, dates are days since 1970, times are milliseconds of a
 * day.
 */
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

export type ColumnType = keyof typeof types;
export interface Column {
  name: string;
  type: ColumnType;
}
export type Cell = string | number | bigint | boolean | null;

export interface WrittenTable {
  file: string;
  rows: number;
  sha256: string;
}

const groupRows = 50_000;

/** Writes one Parquet file, row by row. One group of rows is in memory. */
export class ParquetTable {
  readonly #file: string;
  readonly #columns: readonly Column[];
  readonly #out: FileOut;
  readonly #writer: ParquetWriter;
  #cells: Cell[][];
  #rows = 0;

  constructor(path: string, file: string, columns: readonly Column[]) {
    this.#file = file;
    this.#columns = columns;
    this.#out = new FileOut(path);
    const schema = [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, type }) => ({ name, repetition_type: 'OPTIONAL', ...types[type] })),
    ] as SchemaElement[];
    this.#writer = new ParquetWriter({ writer: this.#out.writer, schema, createdBy: 'ride-calendar' });
    this.#cells = columns.map(() => []);
  }

  add(row: readonly Cell[]): void {
    for (const [i, column] of this.#cells.entries()) column.push(row[i]!);
    this.#rows++;
    if (this.#cells[0]!.length >= groupRows) this.#writeGroup();
  }

  /** Resolves when the file is durable. */
  end(): WrittenTable {
    this.#writeGroup();
    this.#writer.finish();
    return { file: this.#file, rows: this.#rows, sha256: this.#out.close() };
  }

  /** Gives up. The file stays incomplete. */
  drop(): void {
    this.#out.drop();
  }

  #writeGroup(): void {
    if (this.#cells[0]!.length === 0) return;
    const columnData = this.#columns.map(({ name }, i) => ({ name, data: this.#cells[i] as never }));
    this.#writer.write({ columnData, rowGroupSize: groupRows });
    this.#out.flush();
    this.#cells = this.#columns.map(() => []);
  }
}

/** Used in place of the library's file writer, which opens the file again for each piece and never syncs it. */
class FileOut {
  readonly writer: Writer = new ByteWriter();
  readonly #path: string;
  readonly #fd: number;
  readonly #hash = createHash('sha256');
  #isOpen = true;

  constructor(path: string) {
    this.#path = path;
    this.#fd = writing(path, () => openSync(path, 'wx'));
    this.writer.finish = () => this.flush();
  }

  flush(): void {
    const { writer } = this;
    const bytes = new Uint8Array((writer as ByteWriter).buffer, 0, (writer as ByteWriter).index);
    this.#hash.update(bytes);
    writing(this.#path, () => {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    });
    (writer as ByteWriter).index = 0;
  }

  close(): string {
    writing(this.#path, () => fsyncSync(this.#fd));
    this.drop();
    return this.#hash.digest('hex');
  }

  drop(): void {
    if (this.#isOpen) closeSync(this.#fd);
    this.#isOpen = false;
  }
}
