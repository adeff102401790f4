import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** Rows of a query over an export, by DuckDB with the export's own calendar.sql. */
export class ExportInDuckDb implements Disposable {
  readonly #connection: Awaited<ReturnType<DuckDBInstance['connect']>>;

  private constructor(connection: Awaited<ReturnType<DuckDBInstance['connect']>>) {
    this.#connection = connection;
  }

  static async open(dir: string): Promise<ExportInDuckDb> {
    const connection = await (await DuckDBInstance.create()).connect();
    await connection.run(`SET file_search_path = '${dir}'`);
    await connection.run("SET TimeZone = 'UTC'");
    await connection.run(readFileSync(join(dir, 'calendar.sql'), 'utf8'));
    return new ExportInDuckDb(connection);
  }

  /** As DuckDB says them in JSON. */
  async rows(sql: string): Promise<Record<string, unknown>[]> {
    const reader = await this.#connection.runAndReadAll(sql);
    return reader.getRowObjectsJson() as Record<string, unknown>[];
  }

  [Symbol.dispose](): void {
    this.#connection.closeSync();
  }
}
