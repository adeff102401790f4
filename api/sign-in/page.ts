import { hash } from 'node:crypto';
import { type Html, html } from './html.ts';
import { pageStyle } from './page-style.ts';

export interface Page {
  title: string;
  /** The content of the main part, below its heading. */
  body: Html;
  /** What the rider must read first. */
  alert?: string | undefined;
}

const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5f56"/><g fill="none" stroke="#fff" stroke-width="2.4"><circle cx="9" cy="20" r="5"/><circle cx="23" cy="20" r="5"/><path d="M9 20l5-9h6l3 9M12.500 14h8.500"/></g></svg>',
  );

/** A complete page. No script, and one inline style sheet, which the content security policy names by hash. */
export function renderPage({ title, body, alert }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
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
}

const styleHash = hash('sha256', pageStyle.text, 'base64');

// A scheme or an origin. It must not contain anything that ends the directive.
const sourceShape = /^[a-z][a-z0-9+.-]*:(\/\/[a-z0-9._-]+(:(\d+|\*))?)?$/;

/** A page's content security policy. `formTargets`: origins where its forms may end after redirects. */
export function pagePolicy(formTargets: readonly string[] = []): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    'img-src data:',
    `form-action ${["'self'", ...formTargets.filter((target) => sourceShape.test(target))].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** Headers of everything that a browser shows or follows. `policy` is the content security policy. */
export function pageHeaders(policy: string, https: boolean): Record<string, string> {
  return {
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // Not no-referrer: browsers would then also hide the origin of our own forms.
    'Referrer-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
    'Cache-Control': 'no-store',
    ...(https && { 'Strict-Transport-Security': 'max-age=31536000' }),
  };
}
