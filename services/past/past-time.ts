import { settingRules } from '../settings/settings-schema.ts';
import { UsageError } from '../wiring/io.ts';

/** Which of a record's times counts: the log's own timestamp, or upstream's `changed_at`. */
export const clocks = ['timestamp', 'changed_at'] as const;
export type RecordClock = (typeof clocks)[number];

/** Reads an instant that a command was given. Throws UsageError, which names the option. */
export function instantOf(command: string, option: string, text: string): number {
  const { read, want } = settingRules.NOW;
  const result = read.safeParse(text.trim());
  if (result.success) return result.data;
  throw new UsageError(`Cannot run ${command}: ${option} is ${JSON.stringify(text)}, want ${want}`);
}

/** An instant as text; null where a date can't say it. */
export function instantText(ms: number): string | null {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null;
}
