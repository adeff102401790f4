import { Fold } from '../../../projector/facts/fold.ts';
import { Interner } from '../../../projector/facts/interner.ts';
import { LastRevisions } from '../../../projector/intake/last-revisions.ts';
import { explained, type RecordBytes } from '../../../projector/intake/reasons.ts';
import { Validator } from '../../../projector/intake/validator.ts';
import { clampedMs, type Long } from '../../../schemas/events/instants.ts';
import { byTopic, type TopicName } from '../../../schemas/events/records.ts';
import { Notices } from './notices.ts';

const dayMs = 86_400_000;
const year2000Ms = Date.UTC(2000);
/** The seconds or the minutes of a day, taken for milliseconds. */
const nearMidnightMs = 87_000;

/**
 * Looks at records one by one, and at the facts that they make (docs/rules.md#records-check). Bad is what the projector's
 * validator says; what refers to something absent is judged at the end, by the last good record of each key.
 */
export class RecordChecks {
  records = 0;
  readonly notices = new Notices();
  readonly #validator = new Validator();
  readonly #fold = new Fold();
  readonly #revisions = byTopic(() => new LastRevisions());
  /** By topic and the number of what it is about, the place of the last record. RSVPs by their rider. */
  readonly #places = byTopic((): number[] => []);
  readonly #nowMs: number;
  readonly #placeText: (topic: TopicName, place: number) => string;

  /** `placeText`: where a record is, in words, from the number that it was taken with. */
  constructor(nowMs: number, placeText: (topic: TopicName, place: number) => string) {
    this.#nowMs = nowMs;
    this.#placeText = placeText;
  }

  /** `timestampMs`: null for what is in no log yet. */
  take(record: RecordBytes, timestampMs: Long | null, place: number): void {
    const { topic } = record;
    const at = (): string => this.#placeText(topic, place);
    this.records++;
    if (timestampMs !== null && this.#isAhead(timestampMs)) this.notices.add('timestamp_ahead', topic, at);
    const reason = this.#validator.validate(record);
    if (reason !== null) return void this.notices.add('bad_record', `${topic}: ${explained(record, reason)}`, at);
    const { key, value, revision } = this.#validator;
    this.#fold.apply(topic, key, value as never);
    const { first, second } = this.#fold.subject;
    const places = this.#places[topic];
    // Without holes: an array filled at random is many times slower.
    while (places.length < first) places.push(0);
    if (value === null) return;
    places[first] = place;
    const { changed_at: changedAt } = value as { changed_at: Long };
    if (clampedMs(changedAt) < year2000Ms) this.notices.add('changed_at_before_2000', topic, at);
    if (this.#isAhead(changedAt)) this.notices.add('changed_at_ahead', topic, at);
    if (this.#revisions[topic].regressed(first, second, revision)) this.notices.add('revision_fell', topic, at);
  }

  #isAhead = (ms: Long): boolean => clampedMs(ms) > this.#nowMs + dayMs;

  /** Looks at the facts, once all records were taken. */
  end(): void {
    this.#rides();
    this.#nights();
    this.#riders();
  }

  #at(topic: TopicName, number: number): () => string {
    return () => this.#placeText(topic, this.#places[topic][number]!);
  }

  #rides(): void {
    const { rides, metros, nightRecords } = this.#fold.facts;
    for (const [number, { record, metro, nights }] of rides.entries()) {
      if (record === null) continue;
      const at = this.#at('rides', number);
      if (!metros[metro]) this.notices.add('unknown_metro', '', at);
      if (record.title.trim() === '') this.notices.add('empty_title', '', at);
      const hasNights = [...nights.values()].some((night) => nightRecords[night] !== null);
      if (record.posted && !hasNights) this.notices.add('ride_without_nights', '', at);
    }
  }

  #nights(): void {
    const { nightRecords, nightRide, rides, districts } = this.#fold.facts;
    let [timed, far, firstTimed] = [0, 0, 0];
    for (const [number, night] of nightRecords.entries()) {
      if (night === null) continue;
      const at = this.#at('nights', number);
      if (rides[nightRide[number]!]!.record === null) this.notices.add('unknown_ride', '', at);
      const district = night.meeting?.district ?? null;
      if (district !== null && !districts.has(district)) this.notices.add('unknown_district', '', at);
      if (night.meet_time === null) continue;
      if (timed++ === 0) firstTimed = number;
      if (night.meet_time >= nearMidnightMs) far++;
    }
    if (timed > 0 && far === 0) this.notices.add('meet_times_near_midnight', '', this.#at('nights', firstTimed), timed);
  }

  #riders(): void {
    const { riders, riderIds, attendance } = this.#fold.facts;
    const handles = new Interner();
    for (let number = 0; number < riderIds.size; number++) {
      const rider = riders[number] ?? null;
      const rsvps = attendance.length(number);
      if (rider === null && rsvps > 0) this.notices.add('unknown_rider', '', this.#at('attendance', number), rsvps);
      if (rider === null) continue;
      const known = handles.size;
      if (handles.add(rider.handle) < known) this.notices.add('shared_handle', '', this.#at('riders', number));
    }
  }
}
