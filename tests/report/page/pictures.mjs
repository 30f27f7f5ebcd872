// The page against pictures that were looked at. They hold only for the browser and the fonts they were made
// with: elsewhere letters differ, and the comparison is left out with a word.
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

import {openPage} from './browser.mjs';

const kFolder = fileURLToPath(new URL('references/', import.meta.url));
const kThemes = ['light', 'dark'];
const kSize = {width: 1200, height: 1700};
// Of all pixels so many may differ: a number that moved a little, not a section that moved.
const kTolerance = 0.02;

/** What a picture depends on besides the page: the browser's version, and how wide its letters are. */
function madeWith(page) {
  return page.evaluate(() => {
    const context = new OffscreenCanvas(1, 1).getContext('2d');
    const width = (font) => {
      context.font = font;
      return Math.round(100 * context.measureText('Hamburgefonstiv 0123456789').width) / 100;
    };
    return {
      chromium: Number(/Chrome\/(\d+)/.exec(navigator.userAgent)[1]),
      text: width(`15px ${getComputedStyle(document.body).fontFamily}`),
      code: width(`15px ${getComputedStyle(document.querySelector('code')).fontFamily}`),
    };
  });
}

/** The share of pixels that differ: in the browser, which can read PNG. */
function differingShare(page, before, after) {
  return page.evaluate(async (pictures) => {
    const pixelsOf = async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    };
    const [a, b] = await Promise.all(pictures.map(pixelsOf));
    if (a.width !== b.width || a.height !== b.height) return 1;
    let differing = 0;
    for (let i = 0; i < a.data.length; i += 4) {
      // Letters are smoothed a little differently from run to run of a font cache: 16 of 255 is not seen.
      const differs = [0, 1, 2].some((channel) => Math.abs(a.data[i + channel] - b.data[i + channel]) > 16);
      if (differs) ++differing;
    }
    return differing / (a.width * a.height);
  }, [before.toString('base64'), after.toString('base64')]);
}

async function takePicture(context, report, theme) {
  const {page} = await openPage(context, report.file);
  await page.setViewportSize(kSize);
  await page.emulateMedia({colorScheme: theme, reducedMotion: 'reduce'});
  await page.evaluate(() => window.penstock.ready);
  await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const picture = await page.screenshot({animations: 'disabled', caret: 'hide'});
  return {page, picture};
}

/** Compares with tests/report/page/references, or writes them. Throws where too much differs. */
export async function comparePictures(context, report, update) {
  for (const theme of kThemes) {
    const {page, picture} = await takePicture(context, report, theme);
    const now = JSON.stringify(await madeWith(page));
    const file = `${kFolder}page-${theme}.png`;
    const made = `${kFolder}made_with.json`;
    if (update) {
      mkdirSync(kFolder, {recursive: true});
      writeFileSync(file, picture);
      writeFileSync(made, now + '\n');
    } else {
      const then = existsSync(made) ? readFileSync(made, 'utf8').trim() : 'nothing';
      if (now !== then) {
        console.log(`        pictures not compared: made with ${then}, here ${now}`);
        return;
      }
      const share = await differingShare(page, readFileSync(file), picture);
      console.log(`        ${theme}: ${(100 * share).toFixed(3)} % of the pixels differ`);
      if (share > kTolerance) {
        throw new Error(`${(100 * share).toFixed(1)} % of the pixels differ from ${file}; look at the page, ` +
            'and where it is right, run this test with --update');
      }
    }
    await page.close();
  }
}
