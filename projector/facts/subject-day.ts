/** A subject (a rider's or a metro's number) and a day as one number, so that pairs can be kept in a Set and sorted. */
export type SubjectDay = number;

// Days of the years 0001 to 9999 fit into 22 bits once they are shifted to start at 0.
const daySpan = 2 ** 22;
const dayShift = 719_162;

export const subjectDay = (subject: number, day: number): SubjectDay => subject * daySpan + day + dayShift;
export const subjectOf = (pair: SubjectDay): number => Math.floor(pair / daySpan);
export const dayOf = (pair: SubjectDay): number => (pair % daySpan) - dayShift;
