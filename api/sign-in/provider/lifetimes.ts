import { accessTokenSeconds } from '../tokens/access-token.ts';

const minute = 60;
const day = 24 * 60 * minute;

/** Lifetimes in seconds. */
export const lifetimes = {
  accessToken: accessTokenSeconds,
  /** From the redirect to the app until it redeems the code. */
  code: minute,
  /** Of a refresh token that is not used. It never outlives its grant. */
  refreshToken: 30 * day,
  /** Until an app must ask the rider again, which refreshing does not put off (docs/rules.md#consent). */
  grant: 90 * day,
  /** Of a browser's session, from its login (docs/rules.md#sessions). */
  session: day / 2,
  /** From the first page of a sign-in to its last click. */
  interaction: 15 * minute,
  /** From the first use of a code or refresh token: a use within this time is no replay (docs/rules.md#code-flow). */
  reuse: 10,
  /** Of a registered client that nobody has signed in with. */
  unusedClient: day,
  /** Of a registered client, from its last use. */
  usedClient: 120 * day,
};
