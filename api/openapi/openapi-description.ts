/**
 * What no operation says by itself, for whoever has nothing but the base URL: a client's developer (Markdown). `resource` is
 * the base URL without a trailing slash.
 */
export const description = (origin: string, resource: string): string => `\
A ride repeats on dates; one date of one ride is a **night**. Calendars are organised by **metro**, a region with a time zone.
No operation lists the metros: whoever runs this service tells you their slugs.
Everything is read with GET or HEAD. Public answers tell how many riders are going, never who.

\`\`\`
curl -H 'X-Api-Key: <your key>' ${resource}/metros/portland/days/2026-06-13
\`\`\`

## Who may use it

* **Days and rides**: whoever has a developer key, in the header \`X-Api-Key\`. Create one in your account at the ride-management
  website, under developer keys. It is shown once. Keep it on a server: anybody can read a key out of a web page or an app.
* **\`/me\`**: an app whose rider signed in, with the access token in \`Authorization: Bearer\`. The token also reads days and rides.
  Sign-in is OAuth 2.1 (authorization code with PKCE, scope \`read\`), and ${origin}/.well-known/oauth-authorization-server
  describes it to OAuth libraries. Whoever runs this service registers your app and gives you a client id; where that document names
  a \`registration_endpoint\`, an app can register itself. An access token lives ten minutes; the refresh token gets the next one.
* **This document** needs neither. ${origin}/docs shows it as a page on which each request can be tried.

## Requests

* A date is \`YYYY-MM-DD\`. A range includes both of its days, and \`to\` is at most 31 days after \`from\`.
* A list is one value with commas: \`far=under_5,5_to_10\`, not \`far=under_5&far=5_to_10\`. Any item is enough within a list; all lists and
  \`q\` must hold. An item's comma or space may be percent-encoded, and so may the plus sign of \`21+ Only\`.
* Unknown parameters are ignored. A URL has at most 8,000 bytes.

## Days and times

* \`day\` and \`meet_time\` are local, in \`time_zone\`, the metro's zone. A night at 00:30 stands under its own date, not under the evening
  before.
* \`past\` turns true at the metro's local midnight after \`day\`. A night that met an hour ago is not past yet.
* \`/me/nights\` reaches from 30 days before to 90 days after today's date in each night's zone.

## Caching

* Every 200 has an \`ETag\`. Send it back as \`If-None-Match\`: an unchanged answer is a 304 without a body. There are no webhooks; ask
  again like this, such as once a minute.
* \`Cache-Control\` says how long an answer may be used without asking: by default not at all. A \`max-age\` ends at the midnight at
  which \`past\` changes. Only your own client may cache: days and rides are \`private\`, and \`/me\` is not to be stored.
* Days and rides of 1 kB or more are compressed where \`Accept-Encoding\` allows it: gzip, and br or zstd where you name them.

## Errors

| status | body | what to do |
|---|---|---|
| 400 | \`Error\` with \`invalid_request\` | \`input\` names the first wrong parameter, \`detail\` says why |
| 401 for days and rides | \`Error\` with \`invalid_key\` | send a live key, or a live token |
| 401 for \`/me\` | none | refresh the token, or have the rider sign in. \`WWW-Authenticate\` leads to the metadata |
| 404 | \`Error\` with \`not_found\` | \`input\` names what does not exist; null: the path itself |
| 503 | \`Problem\` | ask again after \`Retry-After\` seconds |
| any other | \`Problem\` (RFC 9457) | \`detail\` says what happened; 405 has \`Allow\` |

## Versions

Within a major version this contract only grows: ignore fields that you do not know. Pages of every origin may call it (CORS).`;
