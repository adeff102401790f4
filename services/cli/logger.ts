import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { inLines, inOneLine } from '../../projector/running/foreign-text.ts';
import type { Settings } from '../settings/settings.ts';

/** Where credentials are in logged requests and answers. */
const credentialPaths = ['authorization', '"x-api-key"', 'cookie', '"set-cookie"'].flatMap((header) =>
  ['', 'headers.', 'req.headers.', 'request.headers.', 'res.headers.', 'err.config.headers.'].map((path) =>
    header.startsWith('"') ? `${path.replace(/\.$/, '')}[${header}]` : `${path}${header}`,
  ),
);

/** The process's logger, on standard error: JSON lines, or short ones on a terminal. Without credentials of headers. */
export function makeLogger(
  settings: Pick<Settings, 'logLevel'>,
  { destination = process.stderr, tty = process.stderr.isTTY === true }: LoggerTarget = {},
): Logger {
  return pino(
    {
      level: settings.logLevel,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: credentialPaths, censor: '(hidden)' },
    },
    tty ? terminalLines(destination) : destination,
  );
}

interface LoggerTarget {
  destination?: DestinationStream;
  tty?: boolean;
}

/** `08:15:02 warn  message key=value`, from pino's JSON line. */
const terminalLines = (destination: DestinationStream): DestinationStream => ({
  write(line: string): void {
    const { time, level, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
    const extras = Object.entries(rest).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    const stack = err === undefined ? '' : inLines(`\n${(err as { stack?: string }).stack ?? JSON.stringify(err)}`);
    const fault = stack.replaceAll('\n', '\n  ');
    destination.write(
      `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${inOneLine(`${msg ?? ''}${extras.join('')}`)}${fault}\n`,
    );
  },
});
