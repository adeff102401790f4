const minuteMs = 60_000;
const linesPerMinute = 20;

/** Whether a log line of a kind may be written now: 20 of each kind in a minute from its first, since strangers cause some at will. */
export function lineLimit(nowMs = (): number => performance.now()): (kind: string) => boolean {
  const kinds = new Map<string, { endMs: number; lines: number }>();
  return (kind) => {
    const now = nowMs();
    const known = kinds.get(kind);
    const minute = known && now < known.endMs ? known : { endMs: now + minuteMs, lines: 0 };
    kinds.set(kind, minute);
    minute.lines += 1;
    return minute.lines <= linesPerMinute;
  };
}
