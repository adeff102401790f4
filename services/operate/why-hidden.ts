import { isInWindow } from '../../api/calendar/me-answers.ts';
import type { EdgeLists } from '../../projector/facts/edge-lists.ts';
import { type Facts, flagged, follows, goes, isBlocked, isFriend } from '../../projector/facts/facts.ts';
import {
  nightHidings,
  publishedMeeting,
  rideHidings,
  showsNeighbourhood,
  whereHiding,
} from '../../projector/views/night.ts';
import { ownNights } from '../../projector/views/reader.ts';
import type { KeyFields } from '../../schemas/events/record-keys.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { dayText, weekOf } from '../../schemas/views/days.ts';

/** What hides a record from an answer, and the rule's anchor in docs/rules.md. */
export const hidingRules = {
  'the ride has no record': 'posted',
  'the ride is not posted': 'posted',
  'its metro is unknown': 'posted',
  'the metro has no record': 'unknown-metro',
  'the night has no record': 'absent-references',
  'the rider has no record': 'going-count',
  'the rider does not go': 'going',
  'the rider goes to no night': 'going',
  'nobody whom it would show goes': 'going',
  'the rider neither leads it, nor goes, nor saved it': 'why',
  'the day is over 30 days ago or over 90 days ahead': 'my-nights',
  'not followed': 'known',
  'neither followed nor marked close': 'friends',
  'not flagged': 'flagged',
  blocked: 'blocks',
  'a secret meeting': 'where',
  'no neighbourhood with a slug': 'where',
  'a secret meeting without its neighbourhood': 'secret-neighbourhood',
  'the district has no record': 'neighbourhood',
  'no night names the district': 'neighbourhood',
  'no key has this id': 'developer-keys',
  'not readable yet': 'readable',
} as const;
export type Hidden = keyof typeof hidingRules;

/** A kind of answer, and all that hides the record there; nothing: it shows. */
export interface AnswerOf {
  answer: string;
  hidden: Hidden[];
}

/** Whose own answers are asked for, besides the public ones; null: nobody's. The calendar's clock. */
interface As {
  rider: string | null;
  nowMs: number;
}

/** A date of a ride, by numbers of the facts: -1 where none has named it. */
interface At {
  ride: number;
  night: number;
  day: number;
}

type Fields = { [K in keyof AllFields]?: AllFields[K] };
type AllFields = KeyFields['attendance'] &
  KeyFields['relations'] &
  KeyFields['metros'] &
  KeyFields['districts'] &
  KeyFields['developer-keys'];

const seen = ['known', 'friends', 'flagged'] as const;
type Seen = (typeof seen)[number];

/** Says of a key which kinds of answer show it, and what hides it from the others, by the functions that decide it. */
export class WhyHidden {
  readonly #facts: Facts;
  readonly #as: As;

  constructor(facts: Facts, as: As) {
    this.#facts = facts;
    this.#as = as;
  }

  answers(topic: TopicName, key: Fields): AnswerOf[] {
    const { riderIds, nightsOfDistrict, keyIds, keyHashes, districts } = this.#facts;
    const own = this.#as.rider === null ? null : riderIds.find(this.#as.rider);
    const of = (answer: string, hidden: Hidden[]): AnswerOf => ({ answer, hidden: [...new Set(hidden)] });
    const seenBy = (hidden: (kind: Seen) => Hidden[]) => seen.map((kind) => of(`/me/${kind}`, hidden(kind)));
    switch (topic) {
      case 'metros':
        return [of(`/metros/${key.metro}/days/…`, this.#metro(key.metro!))];
      case 'districts': {
        const nights = [...(nightsOfDistrict.get(key.district!) ?? [])].map((night) => this.#atNight(night));
        const gone: Hidden[] = districts.has(key.district!) ? [] : ['the district has no record'];
        const shows = (at: At) => [...gone, ...this.#neighbourhood(at)];
        const none = 'no night names the district';
        return [
          of('neighbourhood of a night', anyOf(nights.map(shows), none)),
          of(
            `?where=${key.district}`,
            anyOf(
              nights.map((at) => [...gone, ...this.#where(at)]),
              none,
            ),
          ),
        ];
      }
      case 'developer-keys':
        return [
          of(
            'public reads with the key',
            keyHashes.get(keyIds.find(key.key_id!)) === undefined ? ['no key has this id'] : [],
          ),
        ];
      case 'rides': {
        const ride = this.#facts.rideIds.find(key.ride!);
        const nights = [...(this.#facts.rides[ride]?.nights.values() ?? [])].map((night) => this.#atNight(night));
        const any = (hidden: (at: At) => Hidden[]) =>
          anyOf(nights.map(hidden), 'the night has no record', rideHidings(this.#facts, ride));
        return [
          of(`/rides/${key.ride}`, [...rideHidings(this.#facts, ride)]),
          of(
            'days of its metro',
            any((at) => this.#listed(at)),
          ),
          ...(own === null
            ? []
            : [
                of(
                  '/me/nights',
                  any((at) => this.#mine(own, at)),
                ),
                ...seenBy((kind) => any((at) => this.#anybody(own, at, kind))),
              ]),
        ];
      }
      case 'nights': {
        const at = this.#at(key.ride!, key.day!);
        return [
          of(`/rides/${key.ride}`, this.#listed(at)),
          of(`day ${dayText(at.day)} of its metro`, this.#listed(at)),
          of('the same with ?where=', this.#where(at)),
          ...(own === null
            ? []
            : [of('/me/nights', this.#mine(own, at)), ...seenBy((kind) => this.#anybody(own, at, kind))]),
        ];
      }
      case 'attendance': {
        const at = this.#at(key.ride!, key.day!);
        const rider = riderIds.find(key.rider!);
        return [
          of('going_count', [...this.#exists(rider), ...this.#goes(rider, at), ...this.#listed(at)]),
          of('/me/nights of the rider', this.#mine(rider, at)),
          ...(own === null || own === rider ? [] : seenBy((kind) => this.#seen(own, rider, at, kind))),
        ];
      }
      case 'relations': {
        const [reader, other] = [riderIds.find(key.rider!), riderIds.find(key.other!)];
        return seenBy((kind) => this.#seenAnywhere(reader, other, kind));
      }
      case 'riders': {
        const rider = riderIds.find(key.rider!);
        const nights = this.#nightsOf(rider);
        const counted = (at: At) => [...this.#exists(rider), ...this.#goes(rider, at), ...this.#listed(at)];
        return [
          of('sign-in and /me', this.#exists(rider)),
          of('going_count', anyOf(nights.map(counted), 'the rider goes to no night', this.#exists(rider))),
          ...(own === null || own === rider ? [] : seenBy((kind) => this.#seenAnywhere(own, rider, kind))),
        ];
      }
    }
  }

  #metro(metro: string): Hidden[] {
    return this.#facts.metros[this.#facts.metroIds.find(metro)] ? [] : ['the metro has no record'];
  }

  #at(ride: string, day: number): At {
    return { ride: this.#facts.rideIds.find(ride), night: this.#facts.nightKeys.find(`${ride}/${dayText(day)}`), day };
  }

  #atNight(night: number): At {
    return { ride: this.#facts.nightRide[night]!, night, day: this.#facts.nightDay[night]! };
  }

  /** Nights that a rider said anything about. */
  #nightsOf(rider: number): At[] {
    const { attendance } = this.#facts;
    const count = rider < 0 ? 0 : attendance.length(rider);
    return Array.from({ length: count }, (_, i) => this.#atNight(attendance.id(rider, i)));
  }

  #listed({ ride, night }: At): Hidden[] {
    return night < 0
      ? [...rideHidings(this.#facts, ride), 'the night has no record']
      : [...nightHidings(this.#facts, night)];
  }

  #where(at: At): Hidden[] {
    const record = this.#facts.nightRecords[at.night];
    const hiding = record ? whereHiding(publishedMeeting(this.#facts, record.meeting)) : null;
    const district = record?.meeting?.district ?? null;
    const isUnknown = district !== null && !this.#facts.districts.has(district);
    const why: Hidden | null =
      hiding === 'no neighbourhood with a slug' && isUnknown ? 'the district has no record' : hiding;
    return [...this.#listed(at), ...(why ? [why] : [])];
  }

  #neighbourhood(at: At): Hidden[] {
    const meeting = this.#facts.nightRecords[at.night]?.meeting;
    const hides = meeting && !showsNeighbourhood(meeting);
    return [...this.#listed(at), ...(hides ? (['a secret meeting without its neighbourhood'] as const) : [])];
  }

  #exists(rider: number): Hidden[] {
    return this.#facts.riderExists(rider) ? [] : ['the rider has no record'];
  }

  #goes(rider: number, { night }: At): Hidden[] {
    return goes(bitsOf(this.#facts.attendance, rider, night)) ? [] : ['the rider does not go'];
  }

  #mine(rider: number, at: At): Hidden[] {
    const { facts, nowMs } = { facts: this.#facts, nowMs: this.#as.nowMs };
    const hidden = [...this.#exists(rider), ...this.#listed(at)];
    const isOwn =
      rider >= 0 &&
      ownNights(facts, rider, new Set([at.day]))
        .get(weekOf(at.day))
        ?.get(at.night)?.bits;
    if (!isOwn) hidden.push('the rider neither leads it, nor goes, nor saved it');
    const zone = facts.metros[facts.rides[at.ride]?.metro ?? -1]?.time_zone;
    if (zone && !isInWindow({ day: at.day, zone }, nowMs))
      hidden.push('the day is over 30 days ago or over 90 days ahead');
    return hidden;
  }

  /** How a reader sees that another rider goes to a night. */
  #seen(reader: number, other: number, at: At, kind: Seen): Hidden[] {
    const { relations } = this.#facts;
    const hidden = [...this.#exists(reader), ...this.#exists(other), ...this.#listed(at), ...this.#goes(other, at)];
    const bits = bitsOf(relations, reader, other);
    if (kind === 'flagged') return bits & flagged ? hidden : [...hidden, 'not flagged'];
    if (kind === 'known' && !(bits & follows)) hidden.push('not followed');
    if (kind === 'friends' && !isFriend(bits)) hidden.push('neither followed nor marked close');
    if (isBlocked(bits) || isBlocked(bitsOf(relations, other, reader))) hidden.push('blocked');
    return hidden;
  }

  #seenAnywhere(reader: number, other: number, kind: Seen): Hidden[] {
    const nowhere = this.#seen(reader, other, { ride: -1, night: -1, day: 0 }, kind).filter(
      (one) => !ofNights.has(one),
    );
    return anyOf(
      this.#nightsOf(other).map((at) => this.#seen(reader, other, at, kind)),
      'the rider goes to no night',
      nowhere,
    );
  }

  /** How a reader sees a night by those who go there and to whom they relate. */
  #anybody(reader: number, at: At, kind: Seen): Hidden[] {
    const { relations } = this.#facts;
    const count = reader < 0 ? 0 : relations.length(reader);
    const others = Array.from({ length: count }, (_, i) => relations.id(reader, i));
    const going = others.filter((other) => this.#goes(other, at).length === 0);
    const hidden = [...this.#exists(reader), ...this.#listed(at)];
    return anyOf(
      going.map((other) => this.#seen(reader, other, at, kind)),
      'nobody whom it would show goes',
      hidden,
    );
  }
}

/** What depends on the night. */
const ofNights = new Set<Hidden>(['the ride has no record', 'the night has no record', 'the rider does not go']);

/** All that hides each of some; nothing, if one shows. `none`: if there are none, beside what hides them anyway. */
function anyOf(each: readonly Hidden[][], none: Hidden, anyway: readonly Hidden[] = []): Hidden[] {
  if (each.length === 0) return [...anyway, none];
  return each.some((hidden) => hidden.length === 0) ? [] : each.flat();
}

const bitsOf = (lists: EdgeLists, of: number, to: number): number => (of < 0 || to < 0 ? 0 : lists.get(of, to));
