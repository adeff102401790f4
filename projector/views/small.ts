import { foldText } from '../../schemas/views/text.ts';
import { encodeView, type RiderCard } from '../../schemas/views/view-values.ts';
import type { Facts } from '../facts/facts.ts';
import { textOrNull } from './night.ts';

const nothing = Buffer.alloc(0);

/** A metro that exists, and its zone. */
export function renderMetro(facts: Facts, slug: string): Buffer | null {
  const metro = facts.metros.get(slug);
  return metro ? encodeView({ zone: metro.time_zone }, null, nothing) : null;
}

/** A live developer key, by the hash of its text: any current record has it. */
export function renderLiveKey(facts: Facts, hashHex: string): Buffer | null {
  return facts.hashUses.has(hashHex) ? encodeView({}, null, nothing) : null;
}

/** The card of a rider that exists. */
export function renderRider(facts: Facts, id: string): Buffer | null {
  const rider = facts.riders[facts.riderIds.find(id)];
  if (!rider) return null;
  const name = textOrNull(rider.name);
  const card: RiderCard = { handle: rider.handle, name, sort: foldText(name ?? rider.handle) };
  return encodeView(card, null, nothing);
}
