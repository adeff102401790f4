import { parseDay } from '../../schemas/views/days.ts';
import { parseKey } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import { renderDay } from './day.ts';
import { renderNight } from './night.ts';
import { renderRide } from './ride.ts';
import { renderLiveKey, renderMetro, renderRider } from './small.ts';

function splitDay(id: string): [string, number] {
  const slash = id.lastIndexOf('/');
  return [id.slice(0, slash), parseDay(id.slice(slash + 1))!];
}

/**
 * The value of a whole-key view: a pure function of the facts, without the clock. Null where the view should not be.
 * `complete` and `position` say what was written, not what the facts are: they are not rendered.
 */
export function renderView(facts: Facts, key: string): Buffer | null {
  const { kind, id } = parseKey(key);
  switch (kind) {
    case 'day':
      return renderDay(facts, ...splitDay(id));
    case 'night':
      return renderNight(facts, ...splitDay(id));
    case 'ride':
      return renderRide(facts, id);
    case 'metro':
      return renderMetro(facts, id);
    case 'key':
      return renderLiveKey(facts, id);
    case 'rider':
      return renderRider(facts, id);
    default:
      // No view of ours: a listing found it, and it should not be there.
      return null;
  }
}
