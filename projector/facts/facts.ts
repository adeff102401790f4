import type { RecordKey } from '../../schemas/events/record-keys.ts';
import type { Attendance, District, Metro, Night, Relation, Ride } from '../../schemas/events/records.ts';
import { goingBits, ownBits } from '../../schemas/views/reader-fields.ts';
import { EdgeLists } from './edge-lists.ts';
import { FactsSum } from './facts-sum.ts';
import { Interner } from './interner.ts';
import { LargeMap } from './large-map.ts';
import {
  type MetroDay,
  type MetroNumber,
  type NightNumber,
  type Numbered,
  noMetro,
  numbered,
  type RideNumber,
  type RiderNumber,
} from './numbers.ts';

/** What is known about a ride id, even if its record is missing. */
interface RideFact {
  id: string;
  record: Ride | null;
  /** The number of the metro that its record names, known or not. -1 without a record. */
  metro: MetroNumber;
  /** Numbers of its nights, by day: every date that a night record or an RSVP names. */
  nights: Map<number, NightNumber>;
}

interface RiderFact {
  handle: string;
  name: string | null;
}

/** Bits of a relation, as views have them, and of a block, which no view shows. */
export const { follows, close, flagged } = goingBits;
export const blocked = 8;

/**
 * Bits of an attendance, as views have them: the response (one of the two low bits, or none), and saved
 * (docs/rules.md#going). `led` is stored with them in a rider's own layer: the rider leads the ride.
 */
const { going, confirmed, saved } = ownBits;
export const { led } = ownBits;

/** Whether an attendance says that the rider goes (docs/rules.md#going). */
export const goes = (rsvp: number): boolean => (rsvp & (going | confirmed)) > 0;

/** Whether a relation shows where the other rider goes (docs/rules.md#friends), and whether it hides it (docs/rules.md#blocks). */
export const isFriend = (relation: number): boolean => (relation & (follows | close)) > 0;
export const isBlocked = (relation: number): boolean => (relation & blocked) > 0;

export const relationBits = (relation: Pick<Relation, 'follows' | 'close' | 'flagged' | 'blocked'>): number =>
  (relation.follows ? follows : 0) +
  (relation.close ? close : 0) +
  (relation.flagged ? flagged : 0) +
  (relation.blocked ? blocked : 0);

export const rsvpBits = (response: Attendance['response'], isSaved: boolean): number =>
  (response === 'GOING' ? going : response === 'CONFIRMED' ? confirmed : 0) + (isSaved ? saved : 0);

/** Lists of nights in the order of days. */
class NightLists extends EdgeLists<RiderNumber, NightNumber> {
  readonly #days: Numbered<NightNumber, number>;

  constructor(days: Numbered<NightNumber, number>) {
    super();
    this.#days = days;
  }

  protected override compare(a: NightNumber, b: NightNumber): number {
    return this.#days[a]! - this.#days[b]! || a - b;
  }
}

/**
 * The latest good record per key. Riders, rides and nights are interned. A record that refers to something absent is
 * kept under its number, and appears when the other record arrives
 * (docs/rules.md#absent-references, #unchecked-references).
 */
export class Facts {
  /** The sum of all facts below. Code that changes a fact moves the sum in the same step. */
  readonly sum = new FactsSum();

  readonly metroIds = new Interner<MetroNumber>();
  /** By metro number. Null or undefined while there is no record. */
  readonly metros = numbered<MetroNumber, Metro | null | undefined>();
  readonly districtIds = new Interner();
  readonly districts = new Map<string, District>();

  readonly riderIds = new Interner<RiderNumber>();
  /** By rider number. Null or undefined while there is no record. */
  readonly riders = numbered<RiderNumber, RiderFact | null | undefined>();

  readonly rideIds = new Interner<RideNumber>();
  readonly rides = numbered<RideNumber, RideFact>();

  // By night number.
  readonly nightRide = numbered<NightNumber, RideNumber>();
  readonly nightDay = numbered<NightNumber, number>();
  readonly nightRecords = numbered<NightNumber, Night | null>();
  /** How many riders go who exist. Public views show nothing else of them (docs/rules.md#going-count). */
  readonly nightGoing = numbered<NightNumber, number>();

  /** Keys of nights, `<ride>/<YYYY-MM-DD>`. A key's number is the night's number. */
  readonly nightKeys = new Interner<NightNumber>();

  /** By rider number, nights in the order of days, with the bits going, confirmed, saved. */
  readonly attendance = new NightLists(this.nightDay);
  /** By rider number, the riders whom they follow, marked close, flagged or blocked. */
  readonly relations = new EdgeLists<RiderNumber, RiderNumber>();
  /**
   * By rider number, their watchers: riders who follow them, marked them close or flagged them, with those bits of the
   * relation.
   */
  readonly watchers = new EdgeLists<RiderNumber, RiderNumber>();

  /** Rides that a rider leads, by rider number. */
  readonly led = new LargeMap<RiderNumber, Set<RideNumber>>();
  /** Nights of rides in a metro, posted or not, by the metro's number and the day. */
  readonly nightsOfDay = new LargeMap<MetroDay, Set<NightNumber>>();
  /** Rides that name a metro, known or not, by the metro's number. */
  readonly ridesOfMetro = new Map<MetroNumber, Set<RideNumber>>();
  /** Nights that name a district, known or not. */
  readonly nightsOfDistrict = new Map<string, Set<NightNumber>>();

  /** Hashes of developer keys, in hex. */
  readonly hashIds = new Interner();
  readonly keyIds = new Interner();
  /** The hash number of each developer key, by the number of the key's id. */
  readonly keyHashes = new LargeMap<number, number>();
  /** By hash number, how many developer keys have it. */
  readonly hashUses: number[] = [];

  /** The number of the ride that a key begins with. */
  rideOf(key: RecordKey): RideNumber {
    const ride = key.numberIn(this.rideIds, 0);
    if (ride === this.rides.length) {
      this.rides.push({ id: this.rideIds.text(ride), record: null, metro: noMetro, nights: new Map() });
    }
    return ride;
  }

  /** The number of the night that a key begins with. */
  nightOf(key: RecordKey): NightNumber {
    const night = key.numberIn(this.nightKeys, 0, 1);
    if (night < this.nightRide.length) return night;
    const ride = this.rideOf(key);
    this.nightRide.push(ride);
    this.nightDay.push(key.day);
    this.nightRecords.push(null);
    this.nightGoing.push(0);
    this.rides[ride]!.nights.set(key.day, night);
    return night;
  }

  riderExists(rider: RiderNumber): boolean {
    return this.riders[rider] != null;
  }
}

type SetsByKey<K, V> = Pick<Map<K, Set<V>>, 'get' | 'delete'> & { set(key: K, values: Set<V>): unknown };

/** Adds to, or removes from, a set in a map of sets. Removes sets that become empty. */
export function link<K, V>(map: SetsByKey<K, V>, key: K, value: V): void {
  const set = map.get(key);
  if (set) set.add(value);
  else map.set(key, new Set([value]));
}

export function unlink<K, V>(map: SetsByKey<K, V>, key: K, value: V): void {
  const set = map.get(key);
  if (set?.delete(value) && set.size === 0) map.delete(key);
}
