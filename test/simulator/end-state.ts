import { tagOf } from '../../schemas/views/view-keys.ts';
import { foldOf, viewsOf } from '../support/stores/rendered-views.ts';
import type { ProjectorProcess } from './processes.ts';
import type { Scene } from './scene.ts';
import { tags } from './world.ts';

/** What the latest record of each key renders to, by key as Redis has it, and field. */
export function rendered(scene: Scene): Map<string, string> {
  const { keys } = scene;
  const views = new Map<string, string>();
  for (const write of viewsOf(foldOf([...scene.log.latest().values()]).facts)) {
    const key = keys.of(tagOf(write.id), write.kind, write.id);
    if (write.kind !== 'reader') views.set(key, write.value!.toString('latin1'));
    else
      for (const { field, value } of write.fields) views.set(`${key} ${field}`, Buffer.from(value!).toString('latin1'));
  }
  return views;
}

/** Every view that the masters hold, in the same way. */
export function stored(scene: Scene): Map<string, string> {
  const { keys } = scene;
  const views = new Map<string, string>();
  for (const { redis } of scene.masters) {
    for (const [key, value] of redis.keys) {
      const view = keys.viewOf(key);
      if (!view || view.kind === 'complete' || (view.kind as string) === 'fence') continue;
      if (value instanceof Map) {
        for (const [field, each] of value as Map<string, Buffer>) views.set(`${key} ${field}`, each.toString('latin1'));
      } else views.set(key, value === 'set' ? value : value.toString('latin1'));
    }
  }
  return views;
}

/** The names of views that differ. */
export function* differences(
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): Generator<string> {
  for (const [key, value] of wanted) if (found.get(key) !== value) yield key;
  for (const key of found.keys()) if (!wanted.has(key)) yield key;
}

/** Bad records that are the last of their key: as many as every projector must count. */
function unresolved({ log }: Scene): number {
  const last = new Map(log.readable.map((record) => [`${record.topic} ${record.key}`, record.bad === true]));
  return [...last.values()].filter(Boolean).length;
}

/** What a projector still says though all is well. */
function* unwell(scene: Scene, { process: { name }, leads, projector }: ProjectorProcess): Generator<string> {
  const { waits, troubles, unreadableSinceMs, tagsInRepair, unresolvedRejects } = projector.status();
  for (const reason of waits.keys()) if (leads || reason !== 'leader') yield `${name} waits for ${reason}`;
  for (const words of troubles) yield `${name} has trouble: ${words}`;
  if (unreadableSinceMs !== null) yield `${name} counts changes as unreadable`;
  if (tagsInRepair > 0) yield `${name} compares ${tagsInRepair} tags`;
  const rejects = [...unresolvedRejects.values()].reduce((sum, count) => sum + count, 0);
  if (rejects !== unresolved(scene)) yield `${name} counts ${rejects} bad records, not ${unresolved(scene)}`;
}

/** What is not yet as it must be once all is well. Empty: everything is. */
export function* unsettled(scene: Scene, wanted: ReadonlyMap<string, string>): Generator<string> {
  const { keys } = scene;
  // Nobody may have heard of it yet.
  if (scene.masters.some(({ up }) => !up)) yield 'a master is away';
  if (scene.log.hasReaderOfLostRecords) yield 'a projector has yet to notice that the log lost records';
  const leaders = scene.projectors.filter(({ leads }) => leads).length;
  if (leaders !== 1) yield `${leaders} projectors say that they lead`;
  if (scene.projectors.some(({ stopping }) => stopping)) yield 'a projector is yet to stop';
  if (scene.strays.some(({ alive }) => alive)) yield 'a projector with other settings is yet to stop';
  if (scene.restarting > 0) yield 'a projector is yet to be started again';
  if (scene.projectors.some(({ alive, projector }) => alive && !projector.ready)) yield 'a projector is not ready';
  for (const each of scene.projectors) if (each.alive) yield* unwell(scene, each);
  for (const key of differences(wanted, stored(scene))) yield `${key} is missing, differs or is extra`;
  for (const place of scene.log.bad) {
    if (!scene.rejects.places.has(place)) yield `bad record ${place} is not set aside`;
  }
  for (const tag of tags) {
    const redis = scene.redisOf(tag);
    const fence = redis.keys.get(keys.fence(tag))?.toString() ?? '';
    if (!fence.endsWith(':led')) yield `tag ${tag} has fence ${fence}`;
    if (redis.keys.get(keys.complete(tag))?.toString() !== redis.process) yield `tag ${tag} is not stamped`;
    const open = redis.keys.get(keys.open(tag));
    if (open === 'set') yield `tag ${tag} has no open list`;
    else if (open instanceof Map && open.has('compare')) yield `tag ${tag} is still to be compared`;
  }
  if (scene.apis.some(({ guard }) => !guard.covers(tags) || !guard.formats.current)) yield 'an API believes no views';
}

/** Who leads, by the fences: it must not change while all is well. */
export const leadership = (scene: Scene): string =>
  tags
    .map((tag) => scene.redisOf(tag).keys.get(scene.keys.fence(tag)))
    .map((fence) => fence?.toString().replace(/^(\d+):\d+:/, '$1:') ?? '')
    .join(' ');
