const minuteMs = 60_000;
const linesPerMinute = 20;

/** Whether something of a kind is worth a log line now. Strangers cause some of them at will: 20 of a kind a minute are. */
export function lineLimit(nowMs: () => number): (kind: string) => boolean {
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
