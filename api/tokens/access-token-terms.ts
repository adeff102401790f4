/** The one scope there is (INTERFACE, Authentication). */
export const readScope = 'read';

/** Seconds that an access token lives. */
export const accessTokenSeconds = 600;
