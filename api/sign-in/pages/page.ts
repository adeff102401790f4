import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Answer } from '../../messages/answer.ts';
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
const pageStyle = new Html(readFileSync(new URL('page.css', import.meta.url), 'utf8'));

const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5f56"/><g fill="none" stroke="#fff" stroke-width="2.4"><circle cx="9" cy="20" r="5"/><circle cx="23" cy="20" r="5"/><path d="M9 20l5-9h6l3 9M12.500 14h8.500"/></g></svg>',
  );

/** A complete page. No script, and one inline style sheet, which the content security policy names by hash. */
const renderPage = ({ title, body, alert, goTo }: Page): string =>
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

/** A page as an answer to a request. */
export const pageAnswer = (page: Page, status: number, https: boolean): Answer & { body: Buffer } => ({
  status,
  headers: { ...pageHeaders(pagePolicy, https), 'Content-Type': 'text/html; charset=utf-8' },
  body: Buffer.from(renderPage(page)),
});
