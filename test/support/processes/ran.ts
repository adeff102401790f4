import type { Io } from '../../../services/cli/io.ts';
import { runCli } from '../../../services/command-line.ts';
import { heard } from './heard.ts';

/** What a command says, and its exit code: its words, or a line that is cut at spaces. */
export const ran = (
  command: string | readonly string[],
  env: Record<string, string> = {},
  signal?: AbortSignal,
  input?: Io['input'],
) => heard((io) => runCli(typeof command === 'string' ? command.split(' ') : command, io, env), signal, input);

/** The same, what it says as texts. */
export async function said(...given: Parameters<typeof ran>) {
  const { code, out, err } = await ran(...given);
  return { code, out: out.join('\n'), err: err.join('\n') };
}
