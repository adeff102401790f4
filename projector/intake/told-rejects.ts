import type { EncodedRecord } from '../ports/event-log.ts';
import type { RetryDeps } from '../running/waiting.ts';

const everyMs = 1_000;

/** Logs where bad records are and why they are bad: a line a second at most, which says how many it leaves out. */
export function tellRejects({ clock, log, signal }: RetryDeps) {
  let isQuiet = false;
  let words = '';
  let untold = 0;
  const say = (line: string): void => {
    log.warn(line);
    isQuiet = true;
    untold = 0;
    void clock.sleep(everyMs, signal).then(() => {
      isQuiet = false;
      if (untold > 0) say(untold === 1 ? words : `${words} (and ${untold - 1} more since the last line)`);
    });
  };
  return ({ topic, partition, offset }: EncodedRecord, reason: string): void => {
    words = `Rejected record at ${topic}/${partition}@${offset}: ${reason}`;
    if (isQuiet) untold++;
    else say(words);
  };
}
