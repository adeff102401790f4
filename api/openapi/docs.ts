import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { normalize } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { digestOf } from '../../schemas/views/view-values.ts';
import { corsHeaders } from '../messages/answer.ts';
import { Html, html } from '../messages/html.ts';
import { appHeaders, fileType, fileTypes, serveFile } from '../messages/served-files.ts';
import { answerExamples } from './openapi-examples.ts';

/** The API reference at /docs: Swagger UI, served from our own origin. It loads nothing from other hosts. */

/** What the reference page shows of this very service. */
export interface DocsOptions {
  /** Without a trailing slash. */
  baseUrl: string;
  /** Where `/` leads, relative to it. */
  home?: string;
  /** A developer key that anybody at this machine may try. */
  sampleKey?: string;
  /** Inputs that find something, to fill the forms: a metro, a ride, a day (YYYY-MM-DD). */
  sample?: { metro?: string; ride?: string; day?: string };
}

/** This page's client id at the authorization server. The redirect URI is `<origin>/docs/oauth2-redirect.html`. */
const clientId = 'docs';

const library = createRequire(import.meta.url);
const ofLibrary = (name: string): Buffer => readFileSync(library.resolve(`swagger-ui-dist/${name}`));
const ofOurs = (name: string): Buffer => readFileSync(new URL(`./docs/${name}`, import.meta.url));

/** Guides of the folder docs, for whoever has nothing but the base URL, and their examples. A browser shows them as text. */
const guides = {
  'tutorial-website': 'rides on a website',
  'tutorial-rider-app': 'an app that riders sign in to',
  'api-behaviour': 'how the API behaves',
  oauth: 'OAuth',
  mock: 'use it as a mock',
};
const examples = [
  ...['website', 'sign-in', 'night-times', 'oidc-client-ts', 'better-auth'].map((name) => `${name}-example.js`),
  'rider-app-example.html',
  'spring-security-example.yaml',
];
const documents = [...Object.keys(guides).map((name) => `${name}.md`), ...examples];

/** A document as it is served: in place of a link to a file that is not, the file's path in the repository. */
function documentText(name: string): string {
  const text = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  return text.replaceAll(/\[([^\]]+)\]\(([\w./-]+)(?:#[\w-]+)?\)/g, (link, words: string, to: string) => {
    const path = normalize(`docs/${to}`);
    if (documents.includes(to)) return link;
    return words === to || words === path ? path : `${words} (${path} in the repository)`;
  });
}

const fromLibrary = ['swagger-ui.css', 'swagger-ui-bundle.js', 'oauth2-redirect.js', 'favicon-32x32.png'];
const ours = ['reference.css', 'reference.js'];

/** Adds /docs and its files. Their URLs contain a digest of all contents, so browsers may cache them forever. */
export function registerDocs(app: FastifyInstance, options: DocsOptions): void {
  const assets = new Map([
    ...fromLibrary.map((name) => [name, ofLibrary(name)] as const),
    ...ours.map((name) => [name, ofOurs(name)] as const),
  ]);
  const version = digestOf(Buffer.concat([...assets.values()]));
  const headers = appHeaders(options.baseUrl, [
    // Swagger UI sets styles on its elements, and draws its arrows from data URLs.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
  ]);
  const serve = (path: string, text: string, type = fileTypes.html): void =>
    serveFile(app, path, Buffer.from(text), type, headers);

  app.get('/', (_request, reply) => reply.headers(corsHeaders).redirect(options.home ?? 'docs'));
  serve('/docs', docsPage(options, `docs/${version}`));
  // Relative, so that it works behind a proxy that adds a path prefix.
  app.get('/docs/', (_request, reply) => reply.headers(corsHeaders).redirect('../docs', 308));
  // The authorization server redirects to it. It hands the code to the page that opened it, and closes.
  const script = 'oauth2-redirect.js';
  serve(
    '/docs/oauth2-redirect.html',
    String(ofLibrary('oauth2-redirect.html')).replace(script, `${version}/${script}`),
  );
  for (const name of documents) serve(`/docs/${name}`, documentText(name), fileTypes.md);
  for (const [name, content] of assets) {
    serveFile(app, `/docs/${version}/${name}`, content, fileType(name), {
      'Cache-Control': 'public, max-age=31536000, immutable',
      'X-Content-Type-Options': 'nosniff',
    });
  }
}

/** The page at /docs. `assets` is the folder of its scripts and styles, relative to the page. */
function docsPage(options: DocsOptions, assets: string): string {
  const { baseUrl, sampleKey, sample } = options;
  const openapiUrl = `${baseUrl}/openapi.json`;
  const firstUrl = `${baseUrl}/metros/${sample?.metro ?? 'portland'}/days/${sample?.day ?? '2026-06-13'}`;
  const data = { openapi: openapiUrl, key: sampleKey, 'client-id': clientId, ...sample };
  const attributes = Object.entries(data).map(([name, value]) =>
    value === undefined ? html`` : html` data-${name}="${value}"`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ride Calendar: reference</title>
<link rel="icon" type="image/png" href="${assets}/favicon-32x32.png">
<link rel="stylesheet" href="${assets}/swagger-ui.css">
<link rel="stylesheet" href="${assets}/reference.css">
<script defer src="${assets}/swagger-ui-bundle.js"></script>
<script defer src="${assets}/reference.js"></script>
</head>
<body>
<div class="wrap">
<header>
<div class="brand">${bicycle}<h1>Ride Calendar <span class="version">API</span></h1></div>
<p class="lead">Which group bike rides meet, where, and how many are going. Everything here is read-only JSON
over HTTP; the whole interface is described in <a href="${openapiUrl}">openapi.json</a>.</p>
<ol class="steps">
<li>${keyStep(sampleKey)}</li>
<li>
<h2>Ask for a day</h2>
<p>Send the key as a header:</p>
<pre id="request" data-url="${firstUrl}"><code>curl -H 'X-Api-Key: ${sampleKey ?? '<your key>'}' ${firstUrl}</code></pre>
</li>
<li>
<h2>Let riders sign in</h2>
<p>A rider's own nights and friends need their sign-in, not a key: OAuth 2.1, authorization code with PKCE, scope
<code>read</code>. Press <b>Authorize</b> below and choose <b>signIn</b> to try it.</p>
</li>
</ol>
<h2>The answer</h2>
<pre id="answer" tabindex="0"><code>${JSON.stringify(answerExamples.Day, null, 2)}</code></pre>
<p>Guides: ${Object.entries(guides).map(
    ([name, words], i) => html`${i > 0 ? ' · ' : ''}<a href="docs/${name}.md">${words}</a>`,
  )}</p>
</header>
<div id="reference"${attributes}>
<noscript><p class="note">The reference below needs JavaScript. The same is in <a href="${openapiUrl}">openapi.json</a>.</p></noscript>
</div>
</div>
</body>
</html>
`.text;
}

function keyStep(sampleKey: string | undefined): Html {
  if (sampleKey === undefined)
    return html`<h2>Get a key</h2>
<p>In your account, under <b>developer keys</b>, create one. It is shown once: keep it as you would a password.</p>
<p>Then press <b>Authorize</b> below, and paste it under <b>developerKey</b>.</p>`;
  return html`<h2>Take the sample key</h2>
<p>This service runs on sample data, and has a key for you. It is filled in below already.</p>
<pre><code>${sampleKey}</code></pre>`;
}

const bicycle =
  new Html(`<svg viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"
stroke-linejoin="round" aria-hidden="true"><circle cx="11" cy="31" r="8"/><circle cx="37" cy="31" r="8"/>
<path d="M11 31 18 16h14l5 15M18 16l8 15h-15M26 31l6-15M15 12h6M30 11h5"/></svg>`);
