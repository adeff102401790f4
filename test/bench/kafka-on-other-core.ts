import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { otherCore, pin } from './pinned-process.ts';

/** A folder and a Kafka broker, which ends with it. The broker and this process are on the core that is not measured. */
export async function kafkaOnOtherCore(ended: AsyncDisposableStack) {
  pin(process.pid, otherCore);
  const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-bench-'));
  ended.defer(() => rm(dir, { recursive: true, force: true }));
  const broker = await startKafkaBroker();
  ended.defer(() => broker.stop());
  pin(broker.pid, otherCore);
  return { dir, broker };
}
