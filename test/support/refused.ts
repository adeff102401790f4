import { expect } from 'vitest';
import type { Ended, Env, Processes } from './process.ts';

const secrets = ['hunter2', 'Lantern Yard'];

/** Runs a server to the end that it is refused with. */
export async function refused(processes: Processes, command: string, env: Env): Promise<Ended> {
  const ended = await (await processes.start(command, env)).ended;
  expect(ended.err).not.toMatch(/^ +at |"stack"/m);
  for (const secret of secrets) expect(ended.out + ended.err).not.toContain(secret);
  return ended;
}

/** The lines for people; the log's own are JSON. */
export const words = ({ err }: Ended): string[] =>
  err
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('{'));
