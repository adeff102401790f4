import { clampedMs, type Long } from '../../schemas/events/instants.ts';
import { settingRules } from '../settings/settings-schema.ts';
import { UsageError } from './io.ts';

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
