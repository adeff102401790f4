import { readFileSync } from 'node:fs';
import { UsageError } from '../cli/io.ts';
import { type PastRequest, requestOf } from './answers/past-answers.ts';

/** Which answers a command is asked for. */
export interface Asked {
  paths?: readonly string[];
  /** A file with a path a line, and behind it, if it is a rider's own, the rider. */
  fromFile?: string | undefined;
  /** The rider of paths that have none of their own. */
  rider?: string | undefined;
}

/** Whether the output is a line of JSON for each answer, with its path. */
export const isMany = ({ paths = [], fromFile }: Asked): boolean => fromFile !== undefined || paths.length > 1;

/** Parses what a command is asked for, each answer once. Throws UsageError that names the file's line. */
export function requestsOf(command: string, { paths = [], fromFile, rider }: Asked, basePath: string): PastRequest[] {
  const requests = paths.map((path) => requestOf(command, path, rider, basePath));
  const lines = fromFile === undefined ? [] : linesOf(command, fromFile);
  for (const [i, line] of lines.entries()) {
    const [path, ownRider, ...more] = line.split(/\s+/).filter((word) => word !== '');
    if (path === undefined) continue;
    const from = `${command} --from-file ${fromFile}, line ${i + 1}`;
    if (more.length > 0) throw new UsageError(`Cannot run ${from}: it has more than a path and a rider`);
    requests.push(requestOf(from, path, ownRider ?? rider, basePath));
  }
  return [...new Map(requests.map((request) => [`${request.target} ${request.rider}`, request])).values()];
}

function linesOf(command: string, path: string): string[] {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8').split('\n');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`Cannot run ${command}: --from-file ${path} can't be read (${code})`, { cause: error });
  }
}
