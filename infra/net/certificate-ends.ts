import { subscribe } from 'node:diagnostics_channel';
import { checkServerIdentity, type PeerCertificate, TLSSocket } from 'node:tls';

/** When the certificate ends that each server showed last, in milliseconds since the epoch: by setting, then by server. */
const seen = new Map<string, Map<string, number>>();
/** A setting names a few servers, but they may move from address to address for as long as the process lives. */
const serversMax = 100;
/** The settings of servers that `fetch` asks, by host. */
const fetched = new Map<string, string>();

function note(setting: string, server: string, { valid_to }: PeerCertificate): void {
  const servers = seen.get(setting) ?? new Map<string, number>();
  seen.set(setting, servers);
  servers.delete(server);
  servers.set(server, Date.parse(valid_to));
  if (servers.size > serversMax) servers.delete(servers.keys().next().value!);
}

/** TLS options that note each server's certificate at its handshake. `setting`: the one with the servers' address. */
export const noting = (setting: string) => ({
  checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
    note(setting, host, certificate);
    return checkServerIdentity(host, certificate);
  },
});

/** The same for what `fetch` connects to. */
export const noteFetched = (setting: string, url: string): void => void fetched.set(new URL(url).hostname, setting);

// fetch takes no TLS options. Its connections are told of (undici's documentation, "Diagnostics Channel Support").
subscribe('undici:client:connected', (message) => {
  const { connectParams, socket } = message as { connectParams: { hostname: string }; socket: unknown };
  const setting = fetched.get(connectParams.hostname);
  if (setting !== undefined && socket instanceof TLSSocket)
    note(setting, connectParams.hostname, socket.getPeerCertificate());
});

/** By setting, when the first of the certificates ends that its servers showed. */
export const certificateEndsMs = (): Map<string, number> =>
  new Map([...seen].map(([setting, servers]) => [setting, Math.min(...servers.values())]));
