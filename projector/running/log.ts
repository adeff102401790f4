/** Messages to the operator. A pino logger fits. Never contains a record's content. */
export interface Log {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** `1 metro`, `2 metros`. */
export const countText = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;
