import { clampedMs, type Long } from '../../../schemas/events/instants.ts';
import { UsageError } from '../../cli/io.ts';
import { settingRules } from '../../settings/settings-schema.ts';

/** Which of a record's times counts: the log's timestamp, or upstream's `changed_at`. */
export const clocks = ['timestamp', 'changed_at'] as const;
export type RecordClock = (typeof clocks)[number];

/** Parses an instant given to a command. Throws UsageError that names the option. */
export function instantOf(command: string, option: string, text: string): number {
  const { read, want } = settingRules.NOW;
  const result = read.safeParse(text.trim());
  if (result.success) return result.data;
  throw new UsageError(`Cannot run ${command}: ${option} is ${JSON.stringify(text)}, want ${want}`);
}

/** An instant as text. Outside years 0001 to 9999, its milliseconds. */
export const instantText = (ms: Long): string =>
  clampedMs(ms) === Number(ms) ? new Date(Number(ms)).toISOString() : String(ms);
