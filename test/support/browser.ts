import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const candidates = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  chromium.executablePath(),
];

/** A Chromium of this machine: CHROMIUM_PATH, a usual place, or what `npx playwright-core install chromium` put there. */
export const browserPath = candidates.find((path) => path !== undefined && path !== '' && existsSync(path));

/** Starts it without a window. */
export function launchBrowser(): Promise<Browser> {
  if (browserPath === undefined) {
    throw new Error('No Chromium found: set CHROMIUM_PATH, or run npx playwright-core install chromium');
  }
  return chromium.launch({
    executablePath: browserPath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
  });
}
