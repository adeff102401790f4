import { Fold } from '../../../projector/facts/fold.ts';
import { Interner } from '../../../projector/facts/interner.ts';
import { LastRevisions } from '../../../projector/intake/last-revisions.ts';
import { explained, type RecordBytes } from '../../../projector/intake/reasons.ts';
import { Validator } from '../../../projector/intake/validator.ts';
import { clampedMs, type Long } from '../../../schemas/events/instants.ts';
import { byTopic, type TopicName } from '../../../schemas/events/records.ts';
import { Notices } from './notices.ts';
import { references } from './references.ts';

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
  /** By topic and the number of what it is about, the place of the last record. An RSVP and a relation are about two. */
  readonly #places = byTopic((): { first: number[]; second: number[] } => ({ first: [], second: [] }));
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
    if (timestampMs !== null) this.#instant('timestamp', timestampMs, topic, at);
    const reason = this.#validator.validate(record);
    if (reason !== null) return void this.notices.add('rejected_record', `${topic}: ${explained(record, reason)}`, at);
    const { good, value, revision } = this.#validator;
    this.#fold.apply(good);
    if (value === null) return;
    const { first, second } = this.#fold.subject;
    put(this.#places[topic].first, first, place);
    put(this.#places[topic].second, second, place);
    this.#instant('changed_at', (value as { changed_at: Long }).changed_at, topic, at);
    if (this.#revisions[topic].regressed(first, second, revision)) this.notices.add('revision_fell', topic, at);
  }

  #instant(name: 'timestamp' | 'changed_at', ms: Long, topic: TopicName, at: () => string): void {
    if (clampedMs(ms) < year2000Ms) this.notices.add(`${name}_before_2000`, topic, at);
    if (clampedMs(ms) > this.#nowMs + dayMs) this.notices.add(`${name}_ahead`, topic, at);
  }

  /** Looks at the facts, once all records were taken. */
  end(): void {
    const { facts } = this.#fold;
    if (this.records === 0) this.notices.add('no_records', '', () => 'the start');
    for (const { topic, field, to, of, named } of references)
      for (const [number, isThere] of named(facts))
        if (!isThere) this.notices.add(`unknown_${to}`, `${topic}: field ${field}`, this.#at(topic, number, of));
    for (const [number, { record, nights }] of facts.rides.entries()) {
      if (record === null) continue;
      const at = this.#at('rides', number);
      if (record.title.trim() === '') this.notices.add('empty_title', '', at);
      const hasNights = [...nights.values()].some((night) => facts.nightRecords[night] !== null);
      if (record.posted && !hasNights) this.notices.add('ride_without_nights', '', at);
    }
    const handles = new Interner();
    const firstOf: number[] = [];
    for (const [number, rider] of facts.riders.entries()) {
      if (!rider) continue;
      const handle = handles.add(rider.handle);
      const first = firstOf[handle] ?? number;
      firstOf[handle] = first;
      const both = [first, number].map((one) => this.#at('riders', one));
      if (first !== number) this.notices.add('shared_handle', '', () => both.map((at) => at()).join(' and '));
    }
    const times = facts.nightRecords.map((night) => night?.meet_time ?? null);
    const timed = times.filter((time) => time !== null);
    if (timed.length > 0 && timed.every((time) => time < nearMidnightMs)) {
      const at = this.#at('nights', times.indexOf(timed[0]!));
      this.notices.add('meet_times_near_midnight', '', at, timed.length);
    }
  }

  #at(topic: TopicName, number: number, of: 'first' | 'second' = 'first'): () => string {
    return () => this.#placeText(topic, this.#places[topic][of][number]!);
  }
}

function put(places: number[], number: number, place: number): void {
  // Without holes: an array filled at random is many times slower.
  while (places.length < number) places.push(0);
  places[number] = place;
}
