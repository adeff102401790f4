import { basename } from 'node:path';
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { writeFault } from '../../../infra/archive/format/write-atomically.ts';

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
}

const groupRows = 50_000;

/** Writes one Parquet file, row by row. One group of rows is in memory. Throws errors that name the file. */
export class ParquetTable {
  readonly #path: string;
  readonly #columns: readonly Column[];
  readonly #writer: ParquetWriter;
  #cells: Cell[][];
  #rows = 0;

  constructor(path: string, columns: readonly Column[]) {
    this.#path = path;
    this.#columns = columns;
    const schema = [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, type }) => ({ name, repetition_type: 'OPTIONAL', ...types[type] })),
    ] as SchemaElement[];
    this.#writer = this.#writing(
      () => new ParquetWriter({ writer: fileWriter(path), schema, createdBy: 'ride-calendar' }),
    );
    this.#cells = columns.map(() => []);
  }

  add(row: readonly Cell[]): void {
    for (const [i, column] of this.#cells.entries()) column.push(row[i]!);
    this.#rows++;
    if (this.#cells[0]!.length >= groupRows) this.#writeGroup();
  }

  end(): WrittenTable {
    this.#writeGroup();
    this.#writing(() => this.#writer.finish());
    return { file: basename(this.#path), rows: this.#rows };
  }

  #writeGroup(): void {
    if (this.#cells[0]!.length === 0) return;
    const columnData = this.#columns.map(({ name }, i) => ({ name, data: this.#cells[i] as never }));
    this.#writing(() => this.#writer.write({ columnData, rowGroupSize: groupRows }));
    this.#cells = this.#columns.map(() => []);
  }

  #writing<T>(write: () => T): T {
    try {
      return write();
    } catch (error) {
      throw writeFault(this.#path, error);
    }
  }
}
