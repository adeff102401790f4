import { expect, it } from 'vitest';
import { archiveEventLog } from '../../../../infra/archive/log/archive-event-log.ts';
import { startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisConnection } from '../../../../infra/redis/redis-connection.ts';
import { memoryIn } from '../../../../infra/redis/redis-memory.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { fillBytes } from '../../../../projector/leading/room-for-views.ts';
import { realClock } from '../../../../projector/running/clock.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';
import { portlandDirectory } from '../../../support/worlds/portland.ts';

// docs/rules.md#fill
it('what a fill takes is estimated within a quarter', async () => {
  const server = await startRedisServer();
  const settings = { url: server.url, cluster: false, keyPrefix: 'a:' };
  const [connection, writer] = [await redisConnection(settings), await redisViewWriter(settings)];
  const used = async () => memoryIn(String(await connection.command('', ['INFO', 'memory']))).usedBytes;
  const eventLog = archiveEventLog({ dir: portlandDirectory });
  const before = await used();
  const running = startProjector(eventLog, writer);
  try {
    await running.ready();
    const estimated = await fillBytes(running.projector.facts, new Set(allTags), realClock);
    await running.stop();
    const taken = (await used()) - before;
    expect(taken).toBeGreaterThan(1_000_000);
    expect(estimated / taken).toBeGreaterThan(0.75);
    expect(estimated / taken).toBeLessThan(1.25);
  } finally {
    await Promise.all([connection.close(), writer.close(), eventLog.close()]);
    await server.stop();
  }
});
