/**
 * The numbers that facts go by: one for each text that an Interner has met, and pairs of such a number and a day. To the
 * compiler a ride's number is no night's. Where the code runs, each is a plain number.
 */
declare const about: unique symbol;
type Brand<Of> = number & { readonly [about]: Of };

export type MetroNumber = Brand<'metro'>;
export type RideNumber = Brand<'ride'>;
export type NightNumber = Brand<'night'>;
export type RiderNumber = Brand<'rider'>;

/** Where nothing has such a number, as an Interner says it too. */
export const noMetro = -1 as MetroNumber;
export const noNight = -1 as NightNumber;

/** A list in which the numbers of one kind are the places. */
export type Numbered<N extends number, T> = { [one in N]: T } & Pick<
  T[],
  'length' | 'push' | 'map' | 'flatMap' | 'slice'
> & {
    entries(): Iterable<[N, T]>;
  };

export const numbered = <N extends number, T>() => [] as T[] as Numbered<N, T>;

/** A rider's or a metro's number and a day as one number, so that pairs can be kept in a Set and sorted. */
export type SubjectDay<Subject extends number> = Brand<readonly [Subject, 'day']>;
export type MetroDay = SubjectDay<MetroNumber>;
export type RiderDay = SubjectDay<RiderNumber>;
export const noDay = -1 as MetroDay;

// Days of the years 0001 to 9999 fit into 22 bits once they are shifted to start at 0.
const daySpan = 2 ** 22;
const dayShift = 719_162;

export const subjectDay = <S extends number>(subject: S, day: number): SubjectDay<S> =>
  (subject * daySpan + day + dayShift) as SubjectDay<S>;
export const subjectOf = <S extends number>(pair: SubjectDay<S>): S => Math.floor(pair / daySpan) as S;
export const dayOf = (pair: SubjectDay<number>): number => (pair % daySpan) - dayShift;

/** Subject by subject, each one's days in order. */
export const inOrder = <S extends number>(pairs: Iterable<SubjectDay<S>>): ArrayLike<SubjectDay<S>> =>
  Float64Array.from(pairs).sort() as ArrayLike<number> as ArrayLike<SubjectDay<S>>;
