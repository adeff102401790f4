import kafkajs from 'kafkajs';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { dayText } from '../../schemas/views/days.ts';
import { liveKey, marks, metro, night, place, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { kafkaClient } from '../support/servers/kafka.ts';

/** What is published where it is measured how soon a change can be read, and who sees it. */
export const probes = ['probe0', 'probe1'] as const;
export const developerKey = `rck_${'b'.repeat(43)}`;
const topicPrefix = 'ride-calendar.';
const metros = 4;
const rides = 1_800;
const riders = 5_000;
const followed = 5;
const days = 30;
const firstDay = Math.floor(Date.now() / 86_400_000);

export interface Change extends LoggedRecord {
  /** Of a probe's change: its number. */
  seq?: number;
}

const rideOf = (i: number): string => `ride${i}`;
const dayOf = (i: number): string => dayText(firstDay + (i % days));
const description = 'A ride that is ridden every week, at a pace that all can keep';

const titled = (id: string, title: string, i: number): Change =>
  ride(id, { title, description, metro: `metro${i % metros}`, audience: 'GENERAL' });

function* world(): Generator<Change> {
  yield liveKey(developerKey);
  for (let i = 0; i < metros; i++) yield metro(`metro${i}`);
  for (const [i, id] of [...probes.entries(), ...Array.from({ length: rides }, (_, i) => [i, rideOf(i)] as const)]) {
    yield titled(id, `Ride ${i}`, i);
    const where = place({ place_name: `Place No. ${i}`, show_neighbourhood: true });
    yield night(id, dayOf(i), { meet_time: 68_400_000, ...where });
  }
  for (let i = 0; i < riders; i++) {
    yield rider(`rider${i}`, { name: `Rider No. ${i}` });
    for (let n = 1; n <= followed; n++) yield marks(`rider${i}`, `rider${(i + n * 37) % riders}`, 'follows');
  }
}

export const probeChange = (probe: number, seq: number): Change => ({
  ...titled(probes[probe]!, `Probe ${seq}`, probe),
  seq,
});

const anyRide = (): number => Math.floor(Math.random() * rides);

/** Two RSVPs in three, else a new title. */
export function anyChange(): Change {
  if (Math.random() < 2 / 3) return anyRsvp();
  const i = anyRide();
  return titled(rideOf(i), `Ride ${i}, ${Math.floor(Math.random() * 1e6)}`, i);
}

/** An RSVP, which shows in its night, its ride, its day, and to five followers. */
export function anyRsvp(): Change {
  const i = anyRide();
  const response = Math.random() < 0.7 ? 'GOING' : 'NONE';
  return says(`rider${Math.floor(Math.random() * riders)}`, response, rideOf(i), dayOf(i));
}

/** Milliseconds on a clock that the processes of one machine share. */
export const sharedNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** When a bare consumer had which change, and when it could be read over HTTP. By probe: numbers, and when each was first there. */
export type Observed = Record<'alone' | 'read', [seq: number, atMs: number][][]>;

export const nothingObserved = (): Observed => ({ alone: probes.map(() => []), read: probes.map(() => []) });

/** Publishes through kafkajs, the world to begin with. */
export async function startPublishing(brokers: string) {
  const producer = kafkaClient(brokers).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  async function publish(changes: readonly Change[]): Promise<void> {
    const topicMessages = [...Map.groupBy(changes, ({ topic }) => topic)].map(([topic, all]) => ({
      topic: topicPrefix + topic,
      messages: all.map(({ key, value, seq }) => ({
        key,
        value: value && encodeValue(topic as 'rides', value as never),
        ...(seq !== undefined && { headers: { seq: String(seq) } }),
      })),
    }));
    await producer.sendBatch({ topicMessages, acks: -1 });
  }
  const records = [...world()];
  for (let i = 0; i < records.length; i += 2_000) await publish(records.slice(i, i + 2_000));
  return { publish, close: () => producer.disconnect() };
}
