import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../../support/processes/browser.ts';
import { Processes } from '../../support/processes/process.ts';

/** Makes the pictures of README anew, from the sample: `node test/services/calendar-page/screenshots.ts` */

const folder = fileURLToPath(new URL('../../../docs/images', import.meta.url));
await using resources = new AsyncDisposableStack();
const processes = resources.use(new Processes());
const browser = resources.use(await launchBrowser());
const service = await processes.start('start');
await service.printed('Ctrl-C stops it.');
const page = await browser.newPage({ viewport: { width: 900, height: 720 } });
await page.goto(`${service.origin}/calendar`);
await page.waitForSelector('article');
await page.click('.requests summary');
await page.evaluate('scrollTo(0, 0)');
await page.screenshot({ path: join(folder, 'calendar-day.png') });
await page.click('#week');
await page.click('#account');
await page.click('.riders button >> nth=0');
await page.click('button[value=allow]');
await page.waitForSelector('.own');
await page.screenshot({ path: join(folder, 'calendar-week.png') });
