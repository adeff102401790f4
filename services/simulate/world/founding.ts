import { hash } from 'node:crypto';
import { blocked, close, flagged, follows } from '../../../projector/facts/facts.ts';
import type { Audience, Distance, District } from '../../../schemas/events/records.ts';
import { metroSketches, slugOf } from './metros.ts';
import { mix32, Random, toBase } from './random.ts';
import { rideDescription, riderName, rideTitle, rideTypes, secretVenueName, venueName } from './texts.ts';
import { dayMs, dayStartMs, type Records, type SimRide, site, type World } from './world.ts';

/**
 * The rider whose calendar always has something in it: they lead a ride, and have nights of every kind, friends and
 * flags around today. The riders whom they know are never erased. All of them live in the first metro.
 */
export const sampleRider = 0;
const friends = [1, 2, 3, 4, 5, 6];
const closeOnly = 7;
const flaggedRider = 8;
/** Flagged and followed, and has blocked the sample rider. */
const flaggedBlocker = 9;
const blocker = 10;
export const circleSize = 11;
/** The circle's riders, and the share of the first metro's nights that each responds to. */
export const circleShares = Array.from({ length: circleSize }, (_, rider) => (rider === sampleRider ? 0.3 : 0.2));

/** Makes the metros, districts, riders, rides, relations and keys with which the calendar began. */
export function foundWorld(world: World): void {
  const { riders, rides, seed } = world.options;
  foundPlaces(world);
  const [ofRiders, ofRides] = [new Random(seed, 1), new Random(seed, 2)];
  for (let i = 0; i < riders; i++) addRider(world, ofRiders);
  for (let i = 0; i < rides; i++) addRide(world, ofRides);
  foundRelations(world);
  for (let i = 0; i < 3; i++) addKey(world);
}

const founded = ['metros', 'districts', 'developer-keys', 'riders', 'rides'] as const;

/** Publishes what was founded, in the 300 days before the calendar's first day. */
export function* publishFounding(world: World): Records {
  const { riders } = world;
  const relations = riders.reduce((sum, rider) => sum + rider.relations.length, 0);
  const stepMs = (300 * dayMs) / founded.reduce((sum, topic) => sum + world[topic].length, relations);
  let published = 0;
  world.clock = () => dayStartMs(world.firstDay - 300) + Math.floor(published++ * stepMs);
  for (const topic of founded) for (const index of world[topic].keys()) yield world.publish(topic, index);
  for (const [rider, { relations }] of riders.entries()) {
    for (const packed of relations) yield world.relation(rider, packed >> 4, packed & 15);
  }
}

function foundPlaces(world: World): void {
  for (const sketch of metroSketches.slice(0, world.options.metros)) {
    const { slug, name, zone } = sketch;
    const record = { metro: slug, name, time_zone: zone };
    const metro = world.metros.push({ record, sketch, districts: [], riders: [] }) - 1;
    for (const [kind, names] of [
      ['DISTRICT', sketch.districts],
      ['CITY', sketch.cities],
    ] as const) {
      for (const name of names) {
        const district = { district: `${slug}-${slugOf(name)}`, metro: slug, name, kind };
        world.metros[metro]!.districts.push(world.districts.push({ record: district }) - 1);
      }
    }
  }
}

/** Made from the seed, so it is known before the rider is. */
export const riderId = (seed: number, index: number): string =>
  `u_${toBase(mix32(index ^ seed ^ 0x52_49_44_52), 62, 6)}`;

export function addRider(world: World, random: Random): number {
  const index = world.riders.length;
  const metro = index < circleSize ? 0 : random.rank(world.metros.length, 1.4);
  const record = { rider: riderId(world.options.seed, index), ...riderName(random, index) };
  world.riders.push({ record, metro, erased: false, relations: [] });
  world.metros[metro]!.riders.push(index);
  return index;
}

const distances: readonly Distance[] = ['UNDER_5', 'FROM_5_TO_10', 'FROM_10_TO_20', 'FROM_20_TO_40', 'OVER_40'];
const audiences: readonly Audience[] = ['GENERAL', 'GENERAL', 'FAMILY_FRIENDLY', 'ADULTS_21_PLUS'];
const minuteMs = 60_000;

export function addRide(world: World, random: Random): number {
  const index = world.rides.length;
  // Every metro has rides, the first ones more.
  const metro = index < 2 * world.metros.length ? index % world.metros.length : random.rank(world.metros.length, 1.4);
  const { sketch, districts, riders } = world.metros[metro]!;
  const district = world.districts[random.pick(districts)]!.record;
  // The first ride is the sample rider's own: an ordinary weekly one.
  const plain = index === 0;
  const periodDays = plain || random.chance(0.7) ? 7 : random.chance(0.25) ? 14 : null;
  const id = toBase(mix32(index ^ world.options.seed ^ 0x52_49_44_45), 36, 7);
  const ride: SimRide = {
    record: {
      ride: id,
      title: rideTitle(random, sketch.language, district.name),
      description: rideDescription(random),
      type: random.pick(rideTypes),
      metro: sketch.slug,
      distance: random.chance(0.2) ? null : random.pick(distances),
      audience: random.chance(0.25) ? null : random.pick(audiences),
      leaders: leadersOf(random, plain ? [sampleRider] : riders).map((leader) => world.riderId(leader)),
      posted: plain || index % 29 !== 17,
      url: `${site}/rides/${id}`,
    },
    metro,
    firstDay: firstDayOf(world, random, periodDays, plain),
    periodDays,
    meetTimeMs: index % 13 === 5 ? null : meetTimeOf(random),
    meeting: meetingAt(random, district, index),
    firstRegular: random.rank(Math.max(1, riders.length), 1.5),
  };
  return world.rides.push(ride) - 1;
}

/** Any day, but more often today's day of the week: people look at today first. */
function firstDayOf(world: World, random: Random, periodDays: number | null, isToday: boolean): number {
  const { firstDay, options } = world;
  const days = Math.max(1, periodDays ?? options.days);
  const offset = random.int(0, days - 1);
  return firstDay + (isToday || random.chance(0.2) ? (options.today - firstDay) % days : offset);
}

function leadersOf(random: Random, riders: readonly number[]): number[] {
  if (riders.length === 0) return [];
  const count = random.chance(0.2) ? 2 : 1;
  return [...new Set(Array.from({ length: count }, () => riders[random.rank(riders.length, 1.5)]!))];
}

/** Mostly evenings and weekend mornings. A few are at midnight or have stray seconds, as in real calendars. */
function meetTimeOf(random: Random): number {
  if (random.chance(0.03)) return 0;
  const minutes = random.chance(0.65) ? random.int(34, 42) * 30 : random.int(12, 28) * 30;
  return minutes * minuteMs + (random.chance(0.04) ? 30_000 : 0);
}

function meetingAt(
  random: Random,
  { name, district }: Pick<District, 'name' | 'district'>,
  index: number,
): SimRide['meeting'] {
  const secret = index % 11 === 3 || index % 11 === 7;
  return {
    place_name: secret ? secretVenueName(random, name) : venueName(random, name),
    district,
    secret,
    show_neighbourhood: secret ? index % 11 === 7 : random.chance(0.9),
  };
}

function foundRelations(world: World): void {
  const random = new Random(world.options.seed, 4);
  const count = world.riders.length;
  for (let rider = 0; rider < count; rider++) {
    const known = new Set([rider]);
    const add = (other: number, bits: number): void => {
      if (known.has(other) || other >= count) return;
      known.add(other);
      world.riders[rider]!.relations.push(other * 16 + bits);
    };
    if (rider === sampleRider) addCircle(add);
    if (rider === blocker || rider === flaggedBlocker) add(sampleRider, blocked);
    const degree = Math.min(Math.floor(random.pareto(3, 0.55)), 400, count >> 1);
    for (let i = 0; i < degree; i++) add(knownRider(world, random, rider), relationBits(random));
  }
}

function addCircle(add: (other: number, bits: number) => void): void {
  for (const friend of friends) add(friend, friend % 3 === 0 ? follows | close : follows);
  add(closeOnly, close);
  add(flaggedRider, flagged);
  add(flaggedBlocker, flagged | follows);
  add(blocker, follows);
}

/** A rider to follow: mostly of the same metro, and mostly one whom many follow. */
export function knownRider(world: World, random: Random, rider: number): number {
  const near = world.metros[world.riders[rider]!.metro]!.riders;
  if (random.chance(0.85)) return near[random.rank(near.length, 2.2)]!;
  return random.rank(world.riders.length, 2.2);
}

export function relationBits(random: Random): number {
  const dice = random.unit();
  if (dice < 0.02) return flagged;
  if (dice < 0.035) return blocked;
  if (dice < 0.045) return close;
  if (dice < 0.055) return follows | flagged;
  return random.chance(0.12) ? follows | close : follows;
}

export function addKey(world: World): number {
  const index = world['developer-keys'].length;
  const id = `k-${toBase(mix32(index ^ world.options.seed ^ 0x4b_45_59), 36, 7)}`;
  const key_hash = hash('sha256', keyText(world.options.seed, index), 'buffer');
  const record = { key_id: id, key_hash, label: index === 0 ? 'Sample app' : null };
  return world['developer-keys'].push({ record, live: true }) - 1;
}

/** `rck_` and 43 characters of base64url. Made from the seed, so it can be computed from that. */
export const keyText = (seed: number, index: number): string =>
  `rck_${hash('sha256', `ride-calendar simulated key ${seed}/${index}`, 'base64url')}`;
