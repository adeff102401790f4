/** What a history must not hold: the rule that it breaks, and the lines that show it. */
export interface Finding {
  rule: Rule;
  says: string;
  lines: readonly number[];
}

export type Rule =
  | 'history' // cannot be judged: cut off, out of order, or nobody looked
  | 'back' // a reader went back at one process
  | 'older' // somebody was told an older version than somebody else before
  | 'absent' // a false 404, 401 or empty day
  | 'never published' // a version that the log does not hold
  | 'late' // a change was not readable in time
  | 'unanswered' // no answer, without a fault
  | 'bytes' // one ETag for two bodies, or an end that differs from a replay's
  | 'rejects'
  | 'ended' // a process ended unasked
  | 'silent' // nobody told of a stall
  | 'says well' // a metric said well in a stall
  | 'alert'; // an alert did not fire
