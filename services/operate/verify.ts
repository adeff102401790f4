import { redisLiveViews } from '../../infra/redis/views/stored-views.ts';
import type { Difference } from '../../projector/checking/comparison.ts';
import { type Judged, Verification, type Verified } from '../../projector/checking/verification.ts';
import type { Position } from '../../projector/ports/event-log.ts';
import type { LiveViews } from '../../projector/ports/live-views.ts';
import type { StoredName } from '../../projector/ports/view-writer.ts';
import { realClock } from '../../projector/running/clock.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import { unknownSchemaWords } from '../../projector/status/unresolved-rejects.ts';
import { topicNames } from '../../schemas/events/records.ts';
import type { Run } from '../cli/commands.ts';
import { needStoreAndLog } from '../cli/io.ts';
import { showProgress } from '../cli/progress.ts';
import { withLog } from '../serve/open-event-log.ts';

// A request that comes just as an earlier comparison ends mends nothing.
const repairsMax = 3;

/**
 * Folds the log by itself and compares every view of the live store with it. It reads Kafka without a consumer group, and
 * writes no view: `--repair` asks the projector that leads. Exit code 1 if something differs, even if it was mended; else 3 if
 * some views could not be compared.
 */
export const runVerify: Run<{ repair?: boolean }> = async ({ json, repair }, settings, io) => {
  needStoreAndLog(settings, 'verify', 'give the event log that the views are of');
  return withLog('verify', undefined, settings, io, async (eventLog, { partitioners }) => {
    const live = await redisLiveViews(settings.redis!);
    const progress = await showProgress(io, 'Views compared', null);
    let compared = 0;
    const onCompared = (views: number): void => {
      compared += views;
      progress.update(compared);
    };
    const isReadOnce = settings.kafka === null;
    const { log, signal } = io;
    const deps = { eventLog, partitioners, live, clock: realClock, log, signal, isReadOnce, onCompared };
    const verification = new Verification(deps);
    try {
      const verified = await verification.run();
      progress.close();
      for (const { position, differences } of verified.found) {
        if (!json) io.out(`As of ${positionText(position)}:`);
        for (const one of differences) io.out(json ? jsonOf(one, position, live) : lineOf(one, live));
      }
      const left = repair ? await repairAll(verification, namesOf(verified)) : undefined;
      for (const line of json ? [summaryJson(verified, left)] : summaryLines(verified, left, live)) io.out(line);
      for (const doubt of doubtsOf(verified, left)) io.err(doubt);
      if (namesOf(verified).length > 0) return 1;
      return verified.unknown.length > 0 ? 3 : 0;
    } finally {
      progress.close();
      await verification.end();
      await live.close();
    }
  });
};

function namesOf({ found }: Pick<Judged, 'found'>): StoredName[] {
  const names = found.flatMap(({ differences }) => differences.map(({ name }) => name));
  return [...new Map(names.map((name) => [`${name.tag}|${name.kind}:${name.id}`, name])).values()];
}

/** Has the leader mend these. Returns the names that still differ or are not known. Null: nobody leads. */
async function repairAll(verification: Verification, names: readonly StoredName[]): Promise<StoredName[] | null> {
  let left = [...names];
  for (let asked = 0; asked < repairsMax && left.some(({ tag }) => tag >= 0); asked++) {
    const judged = await verification.repair(left);
    if (judged === null) return null;
    left = [...namesOf(judged), ...judged.unknown];
  }
  return left;
}

/** What repairs could not mend. Undefined: no repair was asked for. Null: nobody leads. */
type Left = readonly StoredName[] | null | undefined;

const differencesIn = ({ found }: Verified): number => found.reduce((sum, one) => sum + one.differences.length, 0);
const mendedOf = (verified: Verified, left: readonly StoredName[]): number => namesOf(verified).length - left.length;

function summaryJson(verified: Verified, left: Left): string {
  const { compared, unknown, changing, otherFacts, deleted, misplaced, ofUnknownSchemas } = verified;
  const summary = {
    compared,
    differences: differencesIn(verified),
    unknown: unknown.length,
    unknown_parts: tagsOf(unknown),
    changing,
    other_records: otherFacts,
    deleted,
    misplaced: Object.fromEntries(misplaced.found),
    of_unknown_schemas: ofUnknownSchemas,
    ...(left !== undefined && { fixed: left ? mendedOf(verified, left) : 0 }),
  };
  return JSON.stringify({ summary });
}

function summaryLines(verified: Verified, left: Left, live: LiveViews): string[] {
  const { compared, changing, misplaced } = verified;
  const differences = differencesIn(verified);
  const outcome = differences === 0 ? 'none differs' : countText(differences, 'difference');
  const hot = changing === 0 ? '' : `; ${changing} changed all the while, and are as the projector wrote them last`;
  const lines = [`${countText(compared, 'view')} compared with the log: ${outcome}${hot}`, ...misplaced.lines];
  if (!left) return lines;
  const mended = mendedOf(verified, left);
  lines.push(`Fixed: ${mended} of ${countText(mended + left.length, 'key')}`);
  return [...lines, ...left.map((name) => `  not fixed: ${foreignText(live.spell(name))}`)];
}

const tagsOf = (names: readonly StoredName[]): number[] =>
  [...new Set(names.map(({ tag }) => tag))].sort((a, b) => a - b);

/** Why the result may not be the whole truth. */
function doubtsOf({ unknown, otherFacts, deleted, ofUnknownSchemas }: Verified, left: Left): string[] {
  const doubts = [unknownSchemaWords(ofUnknownSchemas)].filter(Boolean);
  if (unknown.length > 0)
    doubts.push(
      `Not known: ${countText(unknown.length, 'view')} changed since the position stored beside the views, which did not move on in ${countText(tagsOf(unknown).length, 'part')}. Run verify again while a projector leads; if one does, its log says what holds it up`,
    );
  if (deleted) doubts.push(`Since the views were made, ${deleted}. The next start drops what only these held`);
  if (otherFacts)
    doubts.push(
      'May not be exact: the log now says something else up to the stored position than the projector had there. It was compacted since, the projector is of another build, or misplaced records are read in another order, and then views may be told to differ that do not',
    );
  if (left === null)
    doubts.push(
      'Not fixed yet: no projector leads. The next one that does will compare and fix these parts of the store',
    );
  if (left?.some(({ tag }) => tag < 0))
    doubts.push('A key in none of the store’s 64 parts is no projector’s to remove: remove it by redis-cli DEL');
  return doubts;
}

function jsonOf({ what, name, field }: Difference, position: Position, live: LiveViews): string {
  const { tag, kind, id } = name;
  const at = { key: live.spell(name), kind, id, part: tag < 0 ? null : tag };
  return JSON.stringify({ what, ...at, ...(field !== undefined && { field }), position });
}

const lineOf = ({ what, name, field }: Difference, live: LiveViews): string =>
  `  ${what}: ${foreignText(live.spell(name))}${field === undefined ? '' : `, field ${foreignText(field)}`}`;

const positionText = (position: Position): string =>
  topicNames
    .flatMap((topic) => position[topic].map((offset, partition) => `${topic}/${partition}@${offset}`))
    .join(' ');
