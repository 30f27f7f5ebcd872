// What holds for every page, whatever it reports.
import assert from 'node:assert/strict';

import {textsBelow} from './contrast.mjs';
import {open, unfold, untilTheme} from './page_tools.mjs';

const kElementsThatLoad = 'script[src], link:not([href="data:,"]), iframe, object, embed, audio, video, img';

/** One request, for the file itself; no error; nothing in it that could be loaded. */
async function checkSelfContained(context, report) {
  const {page, requests, errors} = await open(context, report);
  await unfold(page);
  assert.deepEqual(errors, []);
  assert.equal(requests.length, 1, requests.join('\n'));
  assert.ok(!/\b(src|href|action)\s*=\s*["']?\s*(https?:)?\/\//i.test(report.html), 'an address in an attribute');
  assert.ok(!/url\(\s*["']?\s*(https?:)?\/\//i.test(report.html), 'an address in a style');
  assert.equal(await page.locator(kElementsThatLoad).count(), 0);
  await page.close();
}

async function checkContents(context, report) {
  const {page} = await open(context, report);
  const {sections, links} = await page.evaluate(() => ({
    sections: [...document.querySelectorAll('main > section, footer')].map(({id}) => `#${id}`),
    links: [...document.querySelectorAll('#contents a')].map((link) => link.getAttribute('href')),
  }));
  assert.deepEqual(links, sections);
  await page.close();
}

async function checkContrast(context, report) {
  for (const theme of ['light', 'dark']) {
    const {page} = await open(context, report);
    await untilTheme(page, theme);
    await unfold(page);
    assert.deepEqual(await page.evaluate(textsBelow, 4.5), [], theme);
    await page.close();
  }
}

/** Runs in the page: what a screen reader would miss. */
function findingsForReaders() {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const textOf = (ids) => (ids ?? '').split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join('');
  const nameOf = (node) => node.getAttribute('aria-label') || textOf(node.getAttribute('aria-labelledby')) ||
      [...node.labels ?? []].map((label) => label.textContent).join('') ||
      (node.tagName === 'BUTTON' ? node.textContent : '');
  const named = 'button, select, input, section, [role="img"], [role="region"], [role="application"]';
  const levels = all('h1, h2, h3, h4, h5, h6').map((heading) => Number(heading.tagName[1]));
  return {
    landmarks: ['header', 'nav', 'main', 'footer'].map((tag) => all(tag).length),
    language: document.documentElement.lang,
    firstHeadings: levels.filter((level) => level === 1).length,
    jumps: levels.filter((level, i) => i > 0 && level > levels[i - 1] + 1).length,
    unnamed: all(named).filter((node) => nameOf(node).trim() === '').map((node) => node.outerHTML.slice(0, 120)),
    withoutCaption: all('table').filter((table) => !table.caption?.textContent).length,
    withoutScope: all('th:not([scope])').length,
    sameIds: all('[id]').length - new Set(all('[id]').map(({id}) => id)).size,
  };
}

async function checkForReaders(context, report) {
  const {page} = await open(context, report);
  await unfold(page);
  assert.deepEqual(await page.evaluate(findingsForReaders), {
    landmarks: [1, 1, 1, 1], language: 'en', firstHeadings: 1, jumps: 0, unnamed: [], withoutCaption: 0,
    withoutScope: 0, sameIds: 0,
  });
  await page.close();
}

/** Numbers what Tab should reach. @returns {number} how many */
function markStops() {
  const usable = [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
      .filter((node) => !node.disabled && node.tabIndex >= 0 && node.checkVisibility({visibilityProperty: true}));
  usable.forEach((node, index) => { node.dataset.stop = index; });
  return usable.length;
}

function focusedStop() {
  const {outlineStyle, outlineWidth} = getComputedStyle(document.activeElement);
  return {stop: document.activeElement.dataset.stop, isSeen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
          what: document.activeElement.outerHTML.slice(0, 100)};
}

/** Tab reaches everything that can be used, the skip link first, and shows where it is. */
async function checkTab(context, report) {
  const {page} = await open(context, report);
  const expected = await page.evaluate(markStops);
  assert.ok(expected > 20);
  const seen = [];
  for (let presses = 0; presses <= expected + 5; ++presses) {
    await page.keyboard.press('Tab');
    const {stop, isSeen, what} = await page.evaluate(focusedStop);
    if (stop === undefined) break;
    assert.ok(isSeen, `focus is seen on ${what}`);
    seen.push(stop);
  }
  assert.equal(seen[0], '0');
  const missed = await page.evaluate((stops) => [...document.querySelectorAll('[data-stop]')]
      .filter((node) => !stops.includes(node.dataset.stop)).map((node) => node.outerHTML.slice(0, 100)), seen);
  assert.deepEqual(missed, []);
  await page.close();
}

/** Wide things scroll in boxes of their own, on screens and on paper. */
async function checkWidths(context, report) {
  const {page} = await open(context, report);
  await unfold(page);
  const widthNow = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(
      () => requestAnimationFrame(() => resolve(document.documentElement.scrollWidth)))));
  for (const width of [360, 400, 768, 1200]) {
    await page.setViewportSize({width, height: 800});
    assert.equal(await widthNow(), width, `at ${width} px`);
  }
  await page.close();
}

export const kChecks = [
  ['one request, no error, and nothing that could be loaded', checkSelfContained],
  ['every section is in the contents', checkContents],
  ['text has a contrast of at least 4.5 in both themes', checkContrast],
  ['landmarks, headings, names, captions and scopes', checkForReaders],
  ['Tab reaches everything that can be used, and shows where it is', checkTab],
  ['narrow windows do not scroll sideways', checkWidths],
];
