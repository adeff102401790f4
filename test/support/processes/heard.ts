import type { Io } from '../../../services/cli/io.ts';

/** Where a command prints that nobody listens to. */
export const quietIo: Io = { out() {}, err() {}, errIsTerminal: false, signal: new AbortController().signal };

/** What a command says, and its exit code. */
export async function heard(run: (io: Io) => Promise<number>, signal = new AbortController().signal) {
  const [out, err]: [string[], string[]] = [[], []];
  const io: Io = { out: (line) => out.push(line), err: (line) => err.push(line), errIsTerminal: false, signal };
  return { code: await run(io), out, err };
}
