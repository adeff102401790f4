import { readFileSync } from 'node:fs';
import { type SettingName, secretSettings } from './settings-schema.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** `REDIS_URL_FILE` of `REDIS_URL`. */
export const fileSettingOf = (name: string): string => `${name}_FILE`;

/** Whether a setting is given, as a variable or as a file. */
export const isGiven = (env: Env, name: SettingName): boolean =>
  Boolean(env[name]?.trim() || (secretSettings.includes(name) && env[fileSettingOf(name)]?.trim()));

/**
 * The environment, with each secret of a file as if it were a variable: REDIS_URL of REDIS_URL_FILE=/run/secrets/redis-url.
 * Adds a line to `errors` for each file that cannot be used, which never shows what is in it.
 */
export function withSecretFiles(env: Env, errors: string[]): Env {
  const texts = { ...env };
  for (const name of secretSettings) {
    const path = env[fileSettingOf(name)]?.trim();
    if (!path) continue;
    try {
      if (env[name]?.trim()) throw new Error(`${name} is given too; give one of them`);
      texts[name] = oneLineOf(path);
    } catch (error) {
      errors.push(`Cannot use setting ${fileSettingOf(name)}: ${(error as Error).message}`);
    }
  }
  return texts;
}

/** A file's only line, without spaces and line breaks around it: most editors end a file with one. */
function oneLineOf(path: string): string {
  const fault = (problem: string, cause?: unknown) =>
    new Error(`${path} ${problem}, want a file with the secret in its one line`, { cause });
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw fault(`cannot be read (${(error as NodeJS.ErrnoException).code})`, error);
  }
  if (text === '') throw fault('is empty');
  if (/[\r\n]/.test(text)) throw fault('has several lines');
  return text;
}
