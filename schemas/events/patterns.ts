/**
 * Patterns and closed lists that events, answers and inputs share (docs/rules.md#keys, #patterns). All patterns are
 * anchored.
 */

export const metroSlugPattern = /^[a-z0-9-]{2,32}$/;
export const rideIdPattern = /^[a-z0-9]{4,32}$/;
export const districtSlugPattern = /^[a-z0-9-]{1,80}$/;
/** Ids of riders and of developer keys (docs/rules.md#keys). */
export const idPattern = /^[A-Za-z0-9_-]{1,64}$/;
/** Of RFC 3986, beside letters and digits. */
export const urlCharacters = "._~:/?#@!$&'()*+,;=%[]-";
/**
 * The address of a page: http or https, with only the characters of RFC 3986, because answers have it as `format: uri`
 * (docs/rules.md#urls).
 */
export const urlPattern = /^https?:\/\/[A-Za-z0-9._~:/?#@!$&'()*+,;=%[\]-]+$/;

export const distanceBands = ['under_5', '5_to_10', '10_to_20', '20_to_40', 'over_40'] as const;
export const audiences = ['General', 'Family Friendly', '21+ Only'] as const;
