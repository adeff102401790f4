import { redisViewWriter } from '../../infra/redis/redis-view-writer.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { Projector } from '../../projector/projector.ts';
import { fanOutWorld } from './fan-out-world.ts';
import { type BenchRecord, memoryEventLog } from './memory-event-log.ts';

/** The projector of the fan-out benchmark, in a process of its own; records come as messages. */
const log = memoryEventLog(fanOutWorld());
const writer = await redisViewWriter({ url: process.argv[2]!, cluster: false, keyPrefix: 'bench:' });
const projector = new Projector({ eventLog: log, writer, rejects: null, log: silentLog });
const running = projector.run(new AbortController().signal);
running.catch((cause) => {
  console.error(cause);
  process.exit(1);
});
process.on('message', async (message: BenchRecord | 'ready') => {
  if (message !== 'ready') {
    log.publish(message);
    return;
  }
  while (!projector.ready) await new Promise((resolve) => setTimeout(resolve, 10));
  process.send!('ready');
});
process.on('SIGTERM', () => process.exit());
