import { subscribe } from 'node:diagnostics_channel';
import { TLSSocket } from 'node:tls';

/** Where a Redis is, and how its keys begin. */
export interface RedisSettings {
  /** A `redis://` or `rediss://` URL. Of a cluster, the URLs of some of its nodes, separated by commas. */
  url: string;
  cluster: boolean;
  /** Comes before every key. */
  keyPrefix: string;
}

/** The URL of each node. A comma in a user or password is no problem: the settings encode it. */
export const addressesOf = (url: string): string[] => url.split(',');

/** The user and password in a URL, as both clients take them. */
export const credentialsOf = ({ username, password }: URL): { username?: string; password?: string } => ({
  ...(username && { username: decodeURIComponent(username) }),
  ...(password && { password: decodeURIComponent(password) }),
});

/**
 * A connection that owes a reply for longer may be half open. It is closed, and a new one is made. TCP by itself would
 * give it up after a quarter of an hour.
 */
export const owedReplyMsMax = 3_000;

/** How long to wait before a connection is tried again, after so many attempts. */
export const reconnectDelayMs = (attempts: number): number => Math.min(50 * 2 ** attempts, 1_000);

// Node tells of a server's TLS alert even after a socket's first error, such as a certificate that is not trusted. Both
// clients hear a socket's first error only, and one that nobody hears would end the process.
subscribe('net.client.socket', (message) => {
  const { socket } = message as { socket: unknown };
  if (socket instanceof TLSSocket) socket.on('error', () => undefined);
});
