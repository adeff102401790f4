import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { needProgram } from '../../../infra/local/debian-packages.ts';

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

/** A Chromium: that of CHROMIUM_PATH, in a usual place or of playwright-core, else Debian's, installed. Throws with what to install. */
export async function launchBrowser(): Promise<Browser> {
  const instead = 'set CHROMIUM_PATH, or run npx playwright-core install chromium';
  await needProgram('Chromium', 'chromium', instead, async () => findBrowser() !== undefined);
  return await chromium.launch({
    executablePath: findBrowser()!,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
  });
}

/** Script for a page, a text since its globals have no types here: texts with less contrast than WCAG's 4.5 to 1. */
export const poorContrast = String.raw`(() => {
  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (channels(color)[3] !== 0) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const poor = [];
  for (const element of document.body.querySelectorAll('*')) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const [front, back] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) poor.push(element.textContent.trim().slice(0, 30) + ': ' + ratio.toFixed(2));
  }
  return poor;
})()`;
