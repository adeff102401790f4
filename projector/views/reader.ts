import { compareText } from '../../schemas/views/text.ts';
import { encodeGoing, encodeOwn, type GoingRider, type OwnNight } from '../../schemas/views/view-values.ts';
import { blocked, close, confirmed, type Facts, flagged, follows, going, saved } from '../facts/facts.ts';

const byRide = (a: { ride: string }, b: { ride: string }): number => compareText(a.ride, b.ride);
const byRideAndRider = (a: GoingRider, b: GoingRider): number =>
  compareText(a.ride, b.ride) || compareText(a.rider, b.rider);

/** A rider's attendances on a day: night number and bits. */
function* attendancesOn(facts: Facts, rider: number, day: number): Generator<{ night: number; bits: number }> {
  const { attendance, nightDay } = facts;
  const length = attendance.length(rider);
  for (let i = attendance.firstIndex(rider, (night) => nightDay[night]! >= day); i < length; i++) {
    const night = attendance.id(rider, i);
    if (nightDay[night] !== day) return;
    yield { night, bits: attendance.bits(rider, i) };
  }
}

const rideOf = (facts: Facts, night: number): string => facts.rides[facts.nightRide[night]!]!.id;

/**
 * A rider's own nights of a day: those they answered or saved, and those of rides they lead (docs/rules.md#why). Null
 * where there are none.
 */
export function renderOwn(facts: Facts, reader: number, day: number): Buffer | null {
  if (!facts.riderExists(reader)) return null;
  const nights = new Map<number, OwnNight>();
  for (const { night, bits } of attendancesOn(facts, reader, day)) {
    nights.set(night, {
      ride: rideOf(facts, night),
      response: bits & confirmed ? 'CONFIRMED' : bits & going ? 'GOING' : 'NONE',
      saved: (bits & saved) > 0,
      led: false,
    });
  }
  for (const ride of facts.led.get(reader) ?? []) {
    const night = facts.rides[ride]!.nights.get(day);
    if (night === undefined || !facts.nightRecords[night]) continue;
    const own = nights.get(night) ?? { ride: rideOf(facts, night), response: 'NONE', saved: false, led: false };
    nights.set(night, { ...own, led: true });
  }
  return nights.size === 0 ? null : encodeOwn([...nights.values()].sort(byRide));
}

/** Who of a reader's relations is going on a day: friends (followed or close, no block either way) or flagged riders. */
function renderGoing(
  facts: Facts,
  reader: number,
  day: number,
  wanted: (other: number, bits: number) => boolean,
): Buffer | null {
  if (!facts.riderExists(reader)) return null;
  const { relations } = facts;
  const riders: GoingRider[] = [];
  for (let i = 0; i < relations.length(reader); i++) {
    const other = relations.id(reader, i);
    const bits = relations.bits(reader, i);
    if (!facts.riderExists(other) || !wanted(other, bits)) continue;
    for (const answer of attendancesOn(facts, other, day)) {
      if ((answer.bits & (going | confirmed)) === 0) continue;
      riders.push({
        ride: rideOf(facts, answer.night),
        rider: facts.riderIds.text(other),
        follows: (bits & follows) > 0,
        close: (bits & close) > 0,
        flagged: (bits & flagged) > 0,
      });
    }
  }
  return riders.length === 0 ? null : encodeGoing(riders.sort(byRideAndRider));
}

/**
 * Friends going on a day: riders the reader follows or marked close, with no block either way (docs/rules.md#friends,
 * #blocks).
 */
export function renderFriends(facts: Facts, reader: number, day: number): Buffer | null {
  return renderGoing(
    facts,
    reader,
    day,
    (other, bits) =>
      (bits & (follows | close)) > 0 && (bits & blocked) === 0 && (facts.relations.get(other, reader) & blocked) === 0,
  );
}

/** Flagged riders going on a day; a flag shows whoever blocked whom (docs/rules.md#flagged, #blocks). */
export function renderFlagged(facts: Facts, reader: number, day: number): Buffer | null {
  return renderGoing(facts, reader, day, (_other, bits) => (bits & flagged) > 0);
}
