import { accessTokenSeconds } from '../tokens/access-token.ts';

/** Lifetimes in seconds. */
export interface Lifetimes {
  accessToken: number;
  /** From the redirect to the app until it redeems the code. */
  code: number;
  /** Of a refresh token that is not used. It never outlives its grant. */
  refreshToken: number;
  /** Until an app must ask the rider again, which refreshing does not put off (docs/rules.md#consent). */
  grant: number;
  /** Of a browser's session, from its login (docs/rules.md#sessions). */
  session: number;
  /** From the first page of a sign-in to its last click. */
  interaction: number;
  /** From the first use of a code or refresh token: a use within this time is no replay (docs/rules.md#code-flow). */
  reuse: number;
  /** Of a registered client that nobody has signed in with. */
  unusedClient: number;
  /** Of a registered client, from its last use. */
  usedClient: number;
}

const minute = 60;
const day = 24 * 60 * minute;

export const defaultLifetimes: Lifetimes = {
  accessToken: accessTokenSeconds,
  code: minute,
  refreshToken: 30 * day,
  grant: 90 * day,
  session: day / 2,
  interaction: 15 * minute,
  reuse: 10,
  unusedClient: day,
  usedClient: 120 * day,
};
