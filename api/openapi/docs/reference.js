/* Starts Swagger UI in the page. What differs from service to service comes as data- attributes of #reference. */

const root = document.querySelector('#reference');
const { openapi, key, clientId, ...given } = root.dataset;
// YYYY-MM-DD, as the Swedish write it.
given.day ??= new Date().toLocaleDateString('sv');

// Signing in comes back to the service's own address, and localhost is not 127.0.0.1 to a browser.
const own = new URL(openapi);
const isThisMachine = (host) => host === 'localhost' || host === '[::1]' || host.startsWith('127.');
if (own.host !== location.host && [own, location].every(({ hostname }) => isThisMachine(hostname)))
  location.replace(new URL('/docs', own));

followColourScheme();
if (key) answerFirst().catch(() => {});
start().catch(() => {
  root.innerHTML = '<p class="note">The description of the interface could not be read. Reload to try again.</p>';
});

async function start() {
  const response = await fetch(openapi);
  if (!response.ok) throw new Error(`openapi.json: ${response.status}`);
  const spec = await response.json();
  document.querySelector('.version').textContent = spec.info.version;
  prefill(spec);
  const ui = window.SwaggerUIBundle({
    spec,
    domNode: root,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    // Numbers of the default theme are too dark on its ground.
    syntaxHighlight: { theme: 'tomorrow-night' },
    plugins: [ownParts],
    oauth2RedirectUrl: new URL('docs/oauth2-redirect.html', location.href).href,
    // The badge would show the description to a validator on another host.
    validatorUrl: null,
    onComplete() {
      if (key) ui.preauthorizeApiKey('developerKey', key);
    },
  });
  new MutationObserver(nameForAll).observe(root, { childList: true, subtree: true });
  if (clientId) ui.initOAuth({ clientId, scopes: ['read'], usePkceWithAuthorizationCodeGrant: true });
}

/** What the first request is answered, in place of an example: this very service's. */
async function answerFirst() {
  const response = await fetch(document.querySelector('#request').dataset.url, { headers: { 'X-Api-Key': key } });
  if (response.ok) document.querySelector('#answer code').textContent = JSON.stringify(await response.json(), null, 2);
}

/**
 * Swagger UI fills its forms with the examples. Ours should find something, and filters are for the reader to choose:
 * required parameters get what the service gave, else today, and ranges are the week from that day on; the others start
 * empty.
 */
function prefill(spec) {
  const to = new Date(Date.parse(given.day) + 7 * 86_400_000).toISOString().slice(0, 10);
  const values = { ...given, from: given.day, to };
  for (const { get } of Object.values(spec.paths)) {
    for (const parameter of get.parameters ?? []) {
      if (parameter.required) parameter.example = values[parameter.name] ?? parameter.example;
      else delete parameter.example;
    }
  }
}

/** Parts of Swagger UI that are ours. */
function ownParts({ React }) {
  return {
    components: {
      // There is one server.
      ServersContainer: () => null,
      // Its link would stand inside a button, which says the same.
      DeepLink: ({ text }) => React.createElement('span', null, text),
    },
  };
}

/** Gives names, and the Tab key's reach, to what Swagger UI leaves without: a screen reader says them. */
function nameForAll() {
  for (const list of root.querySelectorAll('tr[data-param-name] select:not([aria-label])'))
    list.ariaLabel = list.closest('tr').dataset.paramName;
  for (const close of root.querySelectorAll('.close-modal:not([aria-label])')) close.ariaLabel = 'Close';
  // Their texts, Authorize and Logout, are their names.
  for (const button of root.querySelectorAll('.modal-btn[aria-label]')) button.removeAttribute('aria-label');
  for (const code of root.querySelectorAll('pre.microlight:not([tabindex])')) code.tabIndex = 0;
}

function followColourScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
}
