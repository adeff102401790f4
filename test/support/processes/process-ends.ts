import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Ended, Env, Processes, RunningService } from './process.ts';

/** This machine may be busy with other tests. What these limits are about took a minute, or had no end. */
const slackMs = 6_000;
export const toolMsMax = 2_000 + slackMs;
export const serverMsMax = 5_000 + slackMs;

/** Sends the signal; what the process ended with. Throws with all it printed where it goes on for longer than that. */
export async function toldToEnd(running: RunningService, signal: NodeJS.Signals, withinMs: number): Promise<Ended> {
  process.kill(running.pid, signal);
  const ended = await Promise.race([running.ended, sleep(withinMs, null, { ref: false })]);
  if (ended) return ended;
  const { out, err } = await running.kill();
  throw new Error(`It goes on for ${withinMs} ms after ${signal}. It printed:\n${out}\n${err}`);
}

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
