import { protocolErrorsCodesById } from '@platformatic/kafka';

/** Kafka's name for one of its error codes, by which its documentation lists them. */
export const errorText = (code: number): string => `Kafka's error ${protocolErrorsCodesById[code] ?? code}`;
