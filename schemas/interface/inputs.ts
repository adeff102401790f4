import * as z from 'zod';
import { audiences, distanceBands, districtSlugPattern, metroSlugPattern, rideIdPattern } from '../events/patterns.ts';
import { answerRegistry } from './answers.ts';

/**
 * The inputs of each operation (docs/rules.md#paths), as zod schemas from decoded text to typed values. They are
 * checked in this order (docs/rules.md#order-of-inputs). A refusal's first message is the `detail` that the client
 * gets: one constant text per kind of fault, which never repeats what was sent.
 */

const metroSlug = z
  .string()
  .regex(metroSlugPattern, 'is not a metro slug: 2 to 32 of a-z, 0-9 and hyphen')
  .describe('Slug of a metro.');

const rideId = z
  .string()
  .regex(rideIdPattern, 'is not a ride id: 4 to 32 of a-z and 0-9')
  .describe('Public id of a ride.');

const dateFault = 'is not a date, YYYY-MM-DD';

/** A date that exists, years 0001 to 9999 (docs/rules.md#dates). */
const date = z.iso.date(dateFault).refine((text) => !text.startsWith('0000'), dateFault);

/**
 * JSON Schema counts code points, zod's own bounds count UTF-16 units. So the bounds are metadata
 * (docs/rules.md#length-of-q).
 */
const searchWords = z
  .string()
  .refine((text) => {
    if (text.length > 400) return false;
    const { length } = [...text];
    return length >= 2 && length <= 200;
  }, 'is not of 2 to 200 characters')
  .meta({ minLength: 2, maxLength: 200 });

/**
 * One comma-separated value (form style, not exploded). An empty text is one empty item, which no list allows
 * (docs/rules.md#lists). Stops at the first wrong item, because collecting thousands would take milliseconds.
 */
function commaList<Item extends z.ZodType<unknown, string>>(item: Item) {
  const list = z
    .array(item)
    .min(1)
    .refine(
      (values) => new Set(values).size === values.length,
      'is a comma-separated list in which an item is repeated',
    )
    .meta({ uniqueItems: true });
  return z
    .string()
    .transform((text, context) => {
      const items = text.split(',');
      for (const each of items) {
        const fault = item.safeParse(each).error?.issues[0];
        if (fault === undefined) continue;
        context.addIssue(fault.message);
        return z.NEVER;
      }
      return items;
    })
    .pipe(list);
}

const listFault = (items: readonly string[]): string => `is not a comma-separated list of any of: ${items.join(', ')}`;

const far = commaList(
  z.enum(distanceBands, listFault(distanceBands)).register(answerRegistry, {
    id: 'DistanceBand',
    description: 'How long a ride is. The numbers are in the unit of the ride system: this interface names none.',
  }),
);

const who = commaList(
  z
    .enum(audiences, listFault(audiences))
    .register(answerRegistry, { id: 'AudienceName', description: 'Who a ride is for.' }),
);

const where = commaList(
  z
    .string()
    .regex(districtSlugPattern, 'is not a comma-separated list of district slugs: each 1 to 80 of a-z, 0-9 and hyphen'),
);

// docs/rules.md#booleans
const trueOrFalse = z.stringbool({
  truthy: ['true'],
  falsy: ['false'],
  case: 'sensitive',
  error: 'is neither true nor false',
});

const metroAndDates = {
  metro: metroSlug,
  from: date.describe('The first day, YYYY-MM-DD, included.'),
  to: date.describe('The last day, YYYY-MM-DD, included: at most 31 days after `from`.'),
};

const none = { path: z.object({}), query: z.object({}) };

/** Every operation's inputs. The first wrong one in the order of the keys is named. */
export const operationInputs = {
  getOpenApi: none,
  getDay: {
    path: z.object({ metro: metroSlug, day: date.describe('The day, YYYY-MM-DD.') }),
    query: z.object({
      q: searchWords
        .optional()
        .describe(
          "Words, each matched in a ride's title or its meeting place's name, as the website search matches them. " +
            'Case, accents and apostrophes make no difference. A q without letters and numbers finds all nights.',
        ),
      far: far
        .optional()
        .describe(
          'Distance bands, any of them, in the unit of the ride system. A ride that never stated a distance is shown under every band.',
        ),
      who: who.optional().describe('Who a ride is for, any of these. A ride that never said is shown under every one.'),
      where: where
        .optional()
        .describe(
          'Neighbourhoods, any of them, by the `neighbourhood_slug` of nights. A night whose meeting point is withheld is in none.',
        ),
    }),
  },
  getRide: { path: z.object({ ride: rideId }), query: z.object({}) },
  getMyNights: none,
  getKnown: { path: z.object({}), query: z.object(metroAndDates) },
  getFriends: {
    path: z.object({}),
    query: z.object({
      ...metroAndDates,
      close_friends_only: trueOrFalse.default(false).describe('True: only the nights a close friend is going to.'),
    }),
  },
  getFlagged: { path: z.object({}), query: z.object(metroAndDates) },
} as const;

export type OperationName = keyof typeof operationInputs;

/** Every operation's path below the base path (docs/rules.md#paths). A parameter is a whole segment, in braces. */
export const operationPaths: Readonly<Record<OperationName, string>> = {
  getOpenApi: '/openapi.json',
  getDay: '/metros/{metro}/days/{day}',
  getRide: '/rides/{ride}',
  getMyNights: '/me/nights',
  getKnown: '/me/known',
  getFriends: '/me/friends',
  getFlagged: '/me/flagged',
};

type Path<O extends OperationName> = z.output<(typeof operationInputs)[O]['path']>;
type Query<O extends OperationName> = z.output<(typeof operationInputs)[O]['query']>;
/** An operation's checked inputs. An input that was not sent is absent, or has its default. */
export type Inputs<O extends OperationName> = Path<O> & Query<O>;

const dayMs = 86_400_000;
const rangeDaysMax = 31;

/**
 * What is wrong with the last day of a range of two existing dates, or null. E.g. `2026-07-01` to `2026-08-01` is as long as
 * it may be: `to` may be `from` itself, and at most 31 days after it (docs/rules.md#range-of-dates).
 */
export function rangeFault(from: string, to: string): string | null {
  const days = (Date.parse(to) - Date.parse(from)) / dayMs;
  return days >= 0 && days <= rangeDaysMax ? null : 'is before from, or more than 31 days after it';
}
