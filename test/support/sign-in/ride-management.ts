import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../infra/local/free-port.ts';
import { TestBrowser } from './test-browser.ts';

export interface RideManagement {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Signs in at the provider's own pages with a login, which is the `sub`; the address the browser is sent back to. */
  signIn(url: string, login: string): Promise<string>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface RideManagementOptions {
  redirectUri: string;
  authMethod?: 'client_secret_basic' | 'client_secret_post';
  alg?: 'RS256' | 'ES256';
}

/** Starts the ride-management system's OpenID Connect provider, in a process of its own. */
export async function startRideManagement(options: RideManagementOptions): Promise<RideManagement> {
  const [port] = await freePorts(1);
  const issuer = `http://127.0.0.1:${port}`;
  const client = { clientId: 'ride-calendar', clientSecret: 'a-secret-that-only-the-two-know-of' };
  const settings = { authMethod: 'client_secret_basic', alg: 'RS256', ...options, ...client, port: String(port) };
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const script = fileURLToPath(new URL('./ride-management-server.ts', import.meta.url));
    child = spawn(process.execPath, [script, JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout!, 'data');
  };
  const stop = async (): Promise<void> => {
    if (!child || child.exitCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };

  const signIn = async (url: string, login: string): Promise<string> => {
    const browser = new TestBrowser(issuer);
    let at = await browser.open(url);
    for (let pages = 0; pages < 4 && at.page !== ''; pages++) {
      const action = new URL(/<form[^>]+action="([^"]+)"/.exec(at.page)![1]!, at.url).href;
      const isLogin = at.page.includes('name="login"');
      at = await browser.submit(action, isLogin ? { prompt: 'login', login, password: 'any' } : { prompt: 'consent' });
    }
    return at.url;
  };

  await start();
  return { issuer, ...client, signIn, stop, start };
}
