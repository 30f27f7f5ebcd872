// A picture of a report, for documents: its first screen, or the window that shows a section.
// usage: node screenshot.mjs REPORT.html NPM_FOLDER OUT.png [--section ID] [--theme dark] [--width N] [--height N]
import {parseArgs} from 'node:util';

import {openBrowser, openPage} from './browser.mjs';

const {positionals: [report, npmFolder, out], values} = parseArgs({
  allowPositionals: true,
  options: {
    section: {type: 'string'}, theme: {type: 'string', default: 'light'},
    width: {type: 'string', default: '1200'}, height: {type: 'string', default: '900'},
  },
});
if (!out) {
  console.error('usage: node screenshot.mjs REPORT.html NPM_FOLDER OUT.png [--section ID] [--theme dark] ' +
      '[--width N] [--height N]');
  process.exit(2);
}

const {context, close} = await openBrowser(npmFolder,
    {viewport: {width: Number(values.width), height: Number(values.height)}, colorScheme: values.theme, reducedMotion: 'reduce'});
const {page} = await openPage(context, report);
await page.evaluate(() => window.penstock.ready);
if (values.section) await page.evaluate((id) => document.getElementById(id).scrollIntoView(), values.section);
await page.screenshot({path: out, animations: 'disabled'});
await close();
