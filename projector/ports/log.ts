/** What the projector says to its operator; a pino logger is one. Never a record's content. */
export interface Log {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export const silentLog: Log = { info() {}, warn() {}, error() {} };
