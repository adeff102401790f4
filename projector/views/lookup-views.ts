import { foldText } from '../../schemas/views/text.ts';
import { encodeView, type RiderCard } from '../../schemas/views/view-values.ts';
import type { Facts } from '../facts/facts.ts';
import { textOrNull } from './night.ts';

const nothing = Buffer.alloc(0);

/** A metro that exists, with its zone. */
export function renderMetro(facts: Facts, metro: number): Buffer | null {
  const record = facts.metros[metro];
  return record ? encodeView({ zone: record.time_zone }, null, nothing) : null;
}

/** A live developer key, by the hash of its text. It is live while any current record has the hash. */
export function renderDeveloperKey(facts: Facts, hash: number): Buffer | null {
  return (facts.hashUses[hash] ?? 0) > 0 ? encodeView({}, null, nothing) : null;
}

/** The card of a rider who exists. */
export function renderRider(facts: Facts, number: number): Buffer | null {
  const rider = facts.riders[number];
  if (!rider) return null;
  const name = textOrNull(rider.name);
  const card: RiderCard = { handle: rider.handle, name, sort: foldText(name ?? rider.handle) };
  return encodeView(card, null, nothing);
}
