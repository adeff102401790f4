import type { StateStore } from '../../api/ports/sign-in-state.ts';
import { type ConnectionsOf, endConnections, listConnections } from '../../api/sign-in/provider/connections.ts';
import { redisSignInState } from '../../infra/redis/sign-in/redis-sign-in-state.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { tell, UsageError } from '../cli/io.ts';
import type { Settings } from '../settings/settings.ts';

/** Says which clients are connected, by how many connections, and since when. */
export const runSignInList: Run<ConnectionsOf> = async (options, settings, io) => {
  const found = await withSignIn('list', options, settings, (store, of) => listConnections(store, of, io.signal));
  const clients = found.clients.map(({ client, connections, oldestMs, newestMs }) => ({
    client,
    connections,
    oldest: new Date(oldestMs).toISOString(),
    newest: new Date(newestMs).toISOString(),
  }));
  const sessions = options.client === undefined ? found.sessions : null;
  const lines = clients.map(
    ({ client, connections, oldest, newest }) =>
      `${foreignText(client)}: ${countText(connections, 'connection')}, the oldest of ${oldest}, the newest of ${newest}`,
  );
  if (clients.length === 0) lines.push('No app is connected');
  if (sessions !== null) lines.push(`Signed in: ${countText(sessions, 'browser')}`);
  tell(io, options.json, { clients, sessions }, lines);
  return 0;
};

/** Ends connections, and a rider's sessions. Exit code 1 if there was nothing to end: an id may be mistyped. */
export const runSignInEnd: Run<ConnectionsOf> = async (options, settings, io) => {
  if (options.rider === undefined && options.client === undefined)
    throw new UsageError('Cannot run sign-in end: want --rider or --client, or both');
  const ended = await withSignIn('end', options, settings, (store, of) => endConnections(store, of, io.signal));
  const { connections, sessions } = ended;
  const isNone = connections + sessions === 0;
  const what = `${countText(connections, 'connection')} and ${countText(sessions, 'session')}`;
  const line = isNone
    ? 'Nothing of that was connected or signed in'
    : `Ended ${what}; access tokens live for up to ten minutes more`;
  tell(io, options.json, ended, [line]);
  return isNone ? 1 : 0;
};

async function withSignIn<T>(
  command: string,
  { rider, client }: ConnectionsOf,
  { authRedis }: Settings,
  work: (store: StateStore, of: ConnectionsOf) => Promise<T>,
): Promise<T> {
  if (!authRedis)
    throw new UsageError(
      `Cannot run sign-in ${command}: AUTH_REDIS_URL is missing, want the Redis of sign-in, such as redis://127.0.0.1:6379; sign-ins that a process keeps in its memory can't be reached from outside`,
    );
  // An empty id is an unset variable: it must not mean all.
  for (const [option, id] of Object.entries({ rider, client }))
    if (id === '') throw new UsageError(`Cannot run sign-in ${command}: --${option} is empty (an unset variable?)`);
  const store = redisSignInState(authRedis);
  return closing([store], () => work(store, { rider, client }));
}
