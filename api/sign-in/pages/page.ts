import { hash } from 'node:crypto';
import { Html, html } from '../../messages/html.ts';

export interface Page {
  title: string;
  /** The content of the main part, below its heading. */
  body: Html;
  /** Where the browser goes by itself, at once. */
  goTo?: string | undefined;
  /** What the rider must read first. */
  alert?: string | undefined;
}

/** The pages' only style sheet: system fonts, light and dark, one column from 320 px. */
const pageStyle = new Html(`
:root {
  --back: #f3f5f4; --card: #fff; --text: #16211f; --soft: #4c5c59; --line: #cfd8d5;
  --main: #0b5f56; --on-main: #fff; --main-over: #084840; --danger: #9c1f2c; --note: #fff6df; --note-line: #b98900;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #101716; --card: #1a2422; --text: #e8efed; --soft: #a9b8b4; --line: #3a4a47;
    --main: #6fd3c4; --on-main: #06201c; --main-over: #97e3d7; --danger: #ff9aa5; --note: #33290f; --note-line: #d9a93a;
  }
}
* { box-sizing: border-box; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
body { margin: 0; background: var(--back); color: var(--text); }
header, main { max-width: 34rem; margin: 0 auto; }
header { padding: 1.25rem 1.25rem 0.5rem; }
.brand { margin: 0; font-weight: 700; color: var(--main); }
main { background: var(--card); padding: 1.25rem 1.25rem 1.5rem; border: 1px solid var(--line); border-width: 1px 0; }
@media (min-width: 36rem) { main { border-width: 1px; border-radius: 0.75rem; padding: 1.75rem 2rem 2rem; margin-bottom: 3rem; } header { padding-top: 3rem; } }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 0.5rem; overflow-wrap: anywhere; }
p, ul, dl { margin: 0 0 1rem; }
p, li, dd, dt { overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
li + li { margin-top: 0.35rem; }
a { color: var(--main); }
.soft { color: var(--soft); font-size: 0.925rem; }
.alert, .note { padding: 0.75rem 1rem; border-left: 0.3rem solid var(--note-line); background: var(--note); border-radius: 0.25rem; }
button, .button, input[type=text] {
  font: inherit; min-height: 2.75rem; border-radius: 0.5rem; border: 1px solid var(--main); padding: 0.5rem 1rem;
}
button, .button {
  display: inline-flex; align-items: center; justify-content: center; background: var(--main); color: var(--on-main); font-weight: 600; cursor: pointer; text-decoration: none; text-align: center;
}
button:hover, .button:hover { background: var(--main-over); border-color: var(--main-over); }
button.plain, .button.plain { background: transparent; color: var(--main); }
button.plain:hover, .button.plain:hover { text-decoration: underline; }
button.danger { background: transparent; color: var(--danger); border-color: var(--danger); }
button.danger:hover { text-decoration: underline; }
button.link { display: inline; background: none; border: none; padding: 0.25rem 0; min-height: 0; color: var(--main); font-weight: inherit; text-decoration: underline; }
:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
input[type=text] { width: 100%; background: var(--card); color: var(--text); border-color: var(--soft); }
label { display: block; font-weight: 600; margin-bottom: 0.35rem; }
.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 1.5rem 0 0; }
.actions > button, .actions > .button { flex: 1 1 9rem; }
.actions + p { margin-top: 1rem; }
form + form { margin-top: 1.5rem; }
main > :last-child, form > :last-child { margin-bottom: 0; }
.riders { list-style: none; padding: 0; display: grid; gap: 0.5rem; }
.riders li { margin: 0; }
.riders button { display: block; width: 100%; text-align: left; background: transparent; color: var(--text); border-color: var(--line); font-weight: 400; }
.riders button:hover { border-color: var(--main); background: transparent; text-decoration: none; }
.riders strong { display: block; }
.apps { list-style: none; padding: 0; }
.apps > li { border-top: 1px solid var(--line); padding: 1rem 0; margin: 0; }
.apps h2 { margin-top: 0; }
`);

const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5f56"/><g fill="none" stroke="#fff" stroke-width="2.4"><circle cx="9" cy="20" r="5"/><circle cx="23" cy="20" r="5"/><path d="M9 20l5-9h6l3 9M12.500 14h8.500"/></g></svg>',
  );

/** A complete page. No script, and one inline style sheet, which the content security policy names by hash. */
export const renderPage = ({ title, body, alert, goTo }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${goTo === undefined ? null : html`<meta http-equiv="refresh" content="0; url=${goTo}">`}
<title>${title} · Ride Calendar</title>
<link rel="icon" href="${icon}">
<style>${pageStyle}</style>
</head>
<body>
<header><p class="brand">Ride Calendar</p></header>
<main>
<h1>${title}</h1>
${alert === undefined ? null : html`<p class="alert" role="alert">${alert}</p>`}
${body}
</main>
</body>
</html>
`.text;

const styleHash = hash('sha256', pageStyle.text, 'base64');

/**
 * A page's content security policy. Its forms end here. Chromium holds `form-action` against every redirect that follows a
 * form, also an app's own, which no policy can foresee: so a form that leads to an app is answered by a page that leads on.
 */
export const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  'img-src data:',
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** Headers of everything that a browser shows or follows. `policy` is the content security policy. */
export const pageHeaders = (policy: string, https: boolean): Record<string, string> => ({
  'Content-Security-Policy': policy,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  // Not no-referrer: browsers would then also hide the origin of our own forms.
  'Referrer-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Cache-Control': 'no-store',
  ...(https && { 'Strict-Transport-Security': 'max-age=31536000' }),
});
