import { archiveEventLog } from '../../../infra/archive/log/archive-event-log.ts';
import { archiveSave } from '../../../services/archive/save-log.ts';

/** Run as a process of its own: saves Portland's archive to a folder, and may kill itself on the way. */
const [from, to, killAt] = process.argv.slice(2) as [string, string, string?];
const log = archiveEventLog({ dir: from });
const onProgress = ({ done }: { done: number }) => {
  if (killAt !== undefined && done >= Number(killAt)) process.kill(process.pid, 'SIGKILL');
};
try {
  await archiveSave(log, async () => {}, to, { signal: new AbortController().signal, onProgress });
} catch (error) {
  process.stderr.write((error as Error).message);
  process.exitCode = 1;
} finally {
  await log.close();
}
