import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { needPackage } from '../../infra/local/debian-packages.ts';

const candidates = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  chromium.executablePath(),
];

const findBrowser = (): string | undefined =>
  candidates.find((path) => path !== undefined && path !== '' && existsSync(path));

/**
 * Starts a Chromium without a window: that of CHROMIUM_PATH, in a usual place, or what `npx playwright-core install
 * chromium` put there; else Debian's, installed where the user may. Throws, with what to install, where there is none.
 */
export async function launchBrowser(): Promise<Browser> {
  await needPackage({
    name: 'Chromium',
    debianPackage: 'chromium',
    instead: 'set CHROMIUM_PATH, or run npx playwright-core install chromium',
    isThere: async () => findBrowser() !== undefined,
  });
  return await chromium.launch({
    executablePath: findBrowser()!,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
  });
}
