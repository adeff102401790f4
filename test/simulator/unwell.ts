import type { ProjectorProcess } from './processes.ts';
import type { Scene } from './scene.ts';

/** Bad records that are the last of their key: as many as every projector must count. */
function unresolved({ log }: Scene): number {
  const last = new Map(log.readable.map((record) => [`${record.topic} ${record.key}`, record.bad === true]));
  return [...last.values()].filter(Boolean).length;
}

/** What a projector still says though all is well. */
export function* unwell(scene: Scene, { process: { name }, leads, projector }: ProjectorProcess): Generator<string> {
  const { waits, troubles, unreadableSinceMs, tagsInRepair, unresolvedRejects } = projector.status();
  for (const reason of waits.keys()) if (leads || reason !== 'leader') yield `${name} waits for ${reason}`;
  for (const words of troubles) yield `${name} has trouble: ${words}`;
  if (unreadableSinceMs !== null) yield `${name} counts changes as unreadable`;
  if (tagsInRepair > 0) yield `${name} compares ${tagsInRepair} tags`;
  const rejects = [...unresolvedRejects.values()].reduce((sum, count) => sum + count, 0);
  if (rejects !== unresolved(scene)) yield `${name} counts ${rejects} bad records, not ${unresolved(scene)}`;
}
