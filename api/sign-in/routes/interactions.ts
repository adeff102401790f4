import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Interaction } from 'oidc-provider';
import { idPattern } from '../../../schemas/events/patterns.ts';
import { isLoopback } from '../../messages/service-url.ts';
import { clientName, documentHost, redirectWords } from '../clients/client-words.ts';
import { connectedAppsClientId } from '../clients/clients.ts';
import { providerTrouble } from '../pages/error-page.ts';
import { closedPage, consentPage, pickerPage, type SignInForm, upstreamPage } from '../pages/pages.ts';
import { lifetimes } from '../provider/lifetimes.ts';
import { hashedId } from '../provider/sealed-store.ts';
import { paths } from '../tokens/metadata.ts';
import { signedOutCookie } from './own-cookies.ts';
import { formOf } from './request-body.ts';
import type { SignInParts } from './sign-in-parts.ts';

const sampleSize = 12;

type Asked = FastifyRequest<{ Params: { uid: string } }>;

/**
 * The pages between an authorization request and its response: who are you (docs/rules.md#identity, #picking-a-rider),
 * and may this app read (docs/rules.md#consent)? Each belongs to one interaction, which only the browser with its
 * cookie can see.
 */
export function addInteractions(app: FastifyInstance, parts: SignInParts): void {
  const { pages, provider, riders, who, audit } = parts;
  const path = `${paths.signIn}/:uid`;

  // DNS rebinding: another host name that resolves to this machine must not reach the picker.
  const misdirected = (request: Asked): boolean =>
    who === 'picker' && !isLoopback((request.headers.host ?? '').replace(/:\d+$/, ''));

  app.get(path, async (request: Asked, reply) => {
    if (misdirected(request)) return pages.trouble(reply, 'wrongHost');
    const interaction = await provider.interaction(request, reply, request.params.uid);
    if (!interaction) return pages.trouble(reply, 'expired');
    return interaction.prompt.name === 'consent'
      ? await askConsent(parts, interaction, reply)
      : await askWho(parts, interaction, reply);
  });

  app.post(path, async (request: Asked, reply) => {
    if (misdirected(request)) return pages.trouble(reply, 'wrongHost');
    const form = formOf(request);
    const interaction = await provider.interaction(request, reply, request.params.uid);
    if (!interaction) return pages.trouble(reply, 'expired');
    const client = String(interaction.params.client_id);
    const finish = async (result: object): Promise<FastifyReply> => {
      interaction.result = result as Interaction['result'];
      await interaction.persist();
      return pages.goOn(reply, interaction.returnTo);
    };
    switch (`${interaction.prompt.name} ${form.get('do')}`) {
      case 'login pick': {
        if (who !== 'picker') return pages.trouble(reply, 'forged');
        const rider = form.get('rider') ?? '';
        if (!idPattern.test(rider) || !(await riders.card(rider)))
          return await askWho(parts, interaction, reply, 'There is no such rider. Pick one, or check the id.', rider);
        return pages.goOn(reply, await finishLogin(parts, interaction, rider, request, reply));
      }
      case 'login cancel':
      case 'consent deny':
        audit('consent_denied', { client });
        return await finish({ error: 'access_denied', error_description: 'the rider said no' });
      case 'consent switch':
        return reply.redirect(againAsSomebodyElse(interaction), 303);
      case 'consent allow': {
        const accountId = interaction.session!.accountId;
        // Of a double click both requests make the same grant.
        const id = hashedId('Grant', interaction.uid);
        const { jti: grantId } = await provider.makeGrant({ accountId, clientId: client }, id);
        audit('consent', { client });
        // The result keeps the sign-in before this page. Without it, oidc-provider would take a `prompt=login` as not
        // yet answered, and ask for a sign-in again.
        return await finish({ ...interaction.lastSubmission, consent: { grantId } });
      }
      default:
        return pages.trouble(reply, 'expired');
    }
  });
}

async function askWho(parts: SignInParts, interaction: Interaction, reply: FastifyReply, alert?: string, typed = '') {
  const { who, pages, riders, provider } = parts;
  const client = String(interaction.params.client_id);
  const app = client === connectedAppsClientId ? null : await provider.nameOf(client);
  const form: SignInForm = { action: `${paths.signIn}/${interaction.uid}`, app, alert };
  if (who === 'nobody') return pages.page(reply, closedPage, 503);
  if (who === 'picker')
    return pages.page(reply, pickerPage(form, await riders.sample(sampleSize), typed), alert ? 422 : 200);
  return pages.page(reply, upstreamPage(form, `${form.action}/start`, who.host));
}

/**
 * Records who signed in. Returns where the browser goes next. If its session belongs to another rider, perhaps because
 * of another tab, that session is ended first: oidc-provider would do that through a page that needs script.
 */
export async function finishLogin(
  { provider, service, audit, who }: SignInParts,
  interaction: Interaction,
  rider: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  const session = await provider.session(request, reply);
  if (session.accountId !== undefined && session.accountId !== rider) {
    await session.destroy();
    if (interaction.session?.uid === session.uid) delete (interaction as { session?: unknown }).session;
  }
  const signedOut = signedOutCookie(service);
  if (signedOut.of(request)) signedOut.set(reply, '', 0);
  interaction.result = { login: { accountId: rider, ts: Math.floor(Date.now() / 1000) } };
  await interaction.persist();
  const cause = who === 'picker' ? 'picked' : 'provider';
  audit('sign_in', { client: String(interaction.params.client_id), cause });
  return interaction.returnTo;
}

async function askConsent(parts: SignInParts, interaction: Interaction, reply: FastifyReply) {
  const { provider, pages, riders, knownClients } = parts;
  const rider = interaction.session?.accountId;
  const client = await provider.client(String(interaction.params.client_id));
  const card = rider === undefined ? null : await riders.card(rider);
  if (!client) return pages.trouble(reply, providerTrouble('invalid_client', 400));
  if (!card) return pages.trouble(reply, 'expired');
  const page = consentPage({
    action: `${paths.signIn}/${interaction.uid}`,
    app: clientName(client),
    goesTo: redirectWords(String(interaction.params.redirect_uri)),
    known: knownClients.has(client.clientId),
    host: documentHost(client),
    rider: card,
    grantDays: Math.floor(lifetimes.grant / 86_400),
  });
  return pages.page(reply, page);
}

/** The same request from its beginning, with a new sign-in. */
function againAsSomebodyElse(interaction: Interaction): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(interaction.params))
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  query.set('prompt', 'login');
  return `${new URL(interaction.returnTo).origin}${paths.authorize}?${query}`;
}
