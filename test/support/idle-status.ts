import type { ProjectorStatus } from '../../projector/watching/watching.ts';

/** What a projector says that has nothing to do. */
export const idleStatus: ProjectorStatus = {
  role: 'leader',
  unreadableSinceMs: null,
  turnMs: 0,
  waits: new Map(),
  partitions: [],
  tagsInRepair: 0,
  unresolvedRejects: new Map(),
};
