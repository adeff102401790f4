/** Whether a projector leads, and since when. Others may read it at any time. */
export interface Standing {
  readonly role: 'standby' | 'leader';
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
}
