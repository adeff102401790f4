import { signSampleToken } from '../../../api/sign-in/tokens/sample-token.ts';
import type { SigningKeys } from '../../../api/sign-in/tokens/signing-keys.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { dayOf, subjectOf } from '../../../projector/facts/numbers.ts';
import { publishedNight } from '../../../projector/views/night.ts';
import { dayText } from '../../../schemas/views/days.ts';
import type { OpenLog } from '../../backends/open-kafka.ts';
import { UsageError } from '../../cli/io.ts';
import type { Settings } from '../../settings/settings.ts';
import { liveliestRiders } from '../sign-in/views-rider-directory.ts';

// The printed token is for trying the service out, so it lives longer than one from signing in.
const tokenSeconds = 8 * 3600;

/** Whether anybody at this machine may be any rider (docs/rules.md#picking-a-rider). */
export const picksRiders = ({ embedded, pickRiders }: Settings, { madeUp }: OpenLog): boolean =>
  embedded && (madeUp !== null || pickRiders);

/** Where to look first: the metro and day with the most nights of the coming week, or the nearest day with any. */
export function firstDay(facts: Facts, nowMs: number): { metro: string; day: string; ride: string } | null {
  const today = Math.floor(nowMs / 86_400_000);
  let best: { metro: string; day: number; ride: string; score: number } | null = null;
  for (const [metroDay, numbers] of facts.nightsOfDay) {
    const metro = facts.metroIds.text(subjectOf(metroDay));
    const day = dayOf(metroDay);
    const nights = [...numbers].map((number) => publishedNight(facts, number)).filter((night) => night !== null);
    if (nights.length === 0) continue;
    const away = day - today;
    const score = away >= 0 && away < 7 ? nights.length * 100 - away : -Math.abs(away);
    if (best && (score < best.score || (score === best.score && `${metro}/${day}` > `${best.metro}/${best.day}`)))
      continue;
    best = { metro, day, ride: nights[0]!.ride.ride, score };
  }
  return best && { metro: best.metro, day: dayText(best.day), ride: best.ride };
}

/** Every metro, the one with the most rides first. */
export const metrosOf = (facts: Facts) =>
  [...facts.metros.entries()]
    .flatMap(([metro, record]) => (record ? [{ ...record, rides: facts.ridesOfMetro.get(metro)?.size ?? 0 }] : []))
    .sort((a, b) => b.rides - a.rides || (a.metro < b.metro ? -1 : 1))
    .map(({ metro, name, time_zone }) => ({ slug: metro, name, zone: time_zone }));

/** What to try first on a service that has just started. */
export async function firstSteps(
  settings: Settings,
  opened: OpenLog,
  facts: Facts,
  keys: SigningKeys,
  developerKey: string | null,
  first: ReturnType<typeof firstDay>,
  wanted: string | undefined,
) {
  const { baseUrl, origin } = settings;
  const picks = picksRiders(settings, opened);
  const rider = picks ? (wanted ?? riderToTry(facts, opened)) : null;
  return {
    /** What is served, in words. */
    serves: opened.where,
    baseUrl,
    docs: `${origin}/docs`,
    /** Null: this process does not serve the calendar page. */
    calendar: settings.calendarPage ? `${origin}/calendar` : null,
    /** The key of made-up data, or this process's own where riders can be picked. Null: none is known. */
    developerKey,
    /** A day that has nights. */
    day: first && `${baseUrl}/metros/${first.metro}/days/${first.day}`,
    /** How riders sign in. Null: nobody can. */
    signIn: settings.signIn ? 'issuer' : picks ? 'pick' : null,
    /** If riders can be picked: a rider, and a token of theirs. */
    rider,
    token: rider && (await tokenToTry(rider, keys, settings)),
  };
}

/** Throws UsageError if this rider's token cannot be printed. */
export function checkRiderToTry(rider: string, facts: Facts, settings: Settings, opened: OpenLog): void {
  const refuse = (why: string): never => {
    throw new UsageError(`Cannot start with --rider ${JSON.stringify(rider)}: ${why}`);
  };
  if (!picksRiders(settings, opened))
    refuse('riders cannot be picked here; want an archive that simulate made, or ARCHIVE_DIR with SIGN_IN=pick');
  const number = facts.riderIds.find(rider);
  if (number < 0 || !facts.riderExists(number)) refuse('the log has no such rider');
}

/** A token of a rider, for trying the service out. */
export const tokenToTry = (rider: string, keys: SigningKeys, { origin, baseUrl }: Settings): Promise<string> =>
  signSampleToken({ rider, keys, issuer: origin, audience: baseUrl, lifetimeSeconds: tokenSeconds });

/** The rider that a made-up log names, unless a later change has erased them. */
function riderToTry(facts: Facts, { madeUp }: OpenLog): string | null {
  const rider = madeUp?.rider ?? null;
  if (rider !== null && facts.riderExists(facts.riderIds.find(rider))) return rider;
  return liveliestRiders(facts, 1)[0]?.rider ?? null;
}

type FirstSteps = Awaited<ReturnType<typeof firstSteps>>;

/** The first steps as text to print. */
export const firstStepsText = (steps: FirstSteps): string =>
  [`Ride Calendar serves ${steps.serves}.`, '', ...stepLines(steps), '', 'Ctrl-C stops it.'].join('\n');

/** What to try on a service, as lines to print. */
export function stepLines(steps: Omit<FirstSteps, 'serves'>): string[] {
  const { baseUrl, docs, calendar, developerKey, day, signIn, rider, token } = steps;
  const lines = [`  Base URL       ${baseUrl}`, `  Docs           ${docs}`];
  if (calendar) lines.unshift(`  Calendar       ${calendar}`);
  if (developerKey) lines.push(`  Developer key  ${developerKey}`);
  if (day) lines.push('', 'First request:', `  curl -H 'X-Api-Key: ${developerKey ?? '<developer key>'}' ${day}`);
  if (token)
    lines.push(
      '',
      `A rider's own nights (a token for ${rider}, good for ${tokenSeconds / 3600} hours on this machine):`,
      `  curl -H 'Authorization: Bearer ${token}' ${baseUrl}/me/nights`,
    );
  if (signIn === null)
    lines.push(
      '',
      'No rider can sign in: SIGN_IN_ISSUER is not set. docs/settings.md says how to try it (SIGN_IN=pick).',
    );
  return lines;
}
