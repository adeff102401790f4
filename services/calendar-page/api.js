// Asks the Ride Calendar API. Each answer is kept with its ETag, so asking again costs a 304 without a body.

/** What went wrong, in words. `retryAfter`: after how many seconds it is worth asking again; null: never. */
export class ApiError extends Error {
  constructor(message, status, retryAfter) {
    super(message);
    Object.assign(this, { status, retryAfter });
  }
}

const messages = {
  401: 'The calendar does not know this key.',
  404: 'The calendar has no such city, or no such ride any more.',
  503: 'The calendar cannot be read just now.',
};

// `credentials(isRiders, refused)` gives the headers that prove who asks (a developer key or a rider's token, other ones than
// were refused), or throws. What `get` returns has the answer, and `request`: what was sent and what came.
export function createApi(baseUrl, credentials) {
  const kept = new Map();

  return async function get(path, query = {}, isRiders = false, refused = null) {
    // A list is one value with commas: far=under_5,5_to_10. An empty filter is left out.
    const pairs = Object.entries(query).filter(([, value]) => value.length > 0);
    const url = new URL(baseUrl + path);
    url.search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
    const own = await credentials(isRiders, refused);
    // By who asks, too: one rider's answer must not be taken for another's.
    const key = JSON.stringify([own, url]);
    const known = kept.get(key);
    const started = performance.now();
    const headers = { ...own, ...(known && { 'If-None-Match': known.etag }) };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) }).catch(() => {
      throw new ApiError('The calendar cannot be reached.', 0, 10);
    });
    const { status } = response;
    if (status === 401 && isRiders && !refused) return get(path, query, isRiders, own);
    const text = status === 304 ? '' : await response.text();
    const bytes = status === 304 ? 0 : (response.headers.get('Content-Length') ?? new Blob([text]).size);
    const ms = Math.round(performance.now() - started);
    if (!response.ok && status !== 304) throw refusal(response, text);
    const answer = known && status === 304 ? known.answer : JSON.parse(text);
    kept.delete(key);
    kept.set(key, { etag: response.headers.get('ETag'), answer });
    // A page that stays open for a year must not keep a year.
    if (kept.size > 100) kept.delete(kept.keys().next().value);
    return { answer, request: `GET ${url.pathname}${url.search} → ${status}, ${bytes} bytes, ${ms} ms` };
  };
}

function refusal({ status, headers }, text) {
  const { input, detail } = status === 400 ? JSON.parse(text) : {};
  const message = input
    ? `The calendar does not take this ${input === 'q' ? 'search' : input}: ${detail}`
    : messages[status];
  const retryAfter = status >= 500 || status === 429 ? Number(headers.get('Retry-After') ?? 10) : null;
  return new ApiError(message ?? `The calendar answered with status ${status}.`, status, retryAfter);
}
