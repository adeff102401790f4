const minuteMs = 60_000;
const linesPerMinute = 20;

/** Whether a log line of a kind may be written now: 20 of each kind a minute, since strangers cause some at will. */
export function lineLimit(nowMs = (): number => performance.now()): (kind: string) => boolean {
  const lines = new Map<string, number>();
  let minute = 0;
  return (kind) => {
    const now = Math.floor(nowMs() / minuteMs);
    if (now !== minute) lines.clear();
    minute = now;
    const count = (lines.get(kind) ?? 0) + 1;
    lines.set(kind, count);
    return count <= linesPerMinute;
  };
}
