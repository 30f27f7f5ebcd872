// What tests of the page share: a report opened and unfolded, its tables as numbers, and a runner.
import assert from 'node:assert/strict';

import {openBrowser, openPage} from './browser.mjs';
import {Reports} from './reports.mjs';

/** Opens a report and waits until all is drawn. */
export async function open(context, report) {
  const opened = await openPage(context, report.file);
  assert.equal(await opened.page.evaluate(() => window.penstock.ready), true);
  return opened;
}

/** Every `details` opened and every long table shown whole. */
export async function unfold(page) {
  await page.evaluate(async () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
    await new Promise((resolve) => setTimeout(resolve));
    for (const more of document.querySelectorAll('.more')) more.click();
  });
}

/** Sets the system's theme, and waits until the page has noticed. */
export async function untilTheme(page, theme) {
  await page.emulateMedia({colorScheme: theme});
  await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
}

/** The cells of the table with this caption: exact numbers where there are some, else text. */
export async function rowsOf(page, caption) {
  const rows = await page.evaluate((wanted) => {
    const table = [...document.querySelectorAll('table')].find((one) => one.caption?.textContent === wanted);
    if (!table) return null;
    return [...table.querySelectorAll('tbody > tr:not(.detail)')].map((row) => [...row.cells].map((cell) => {
      const number = cell.querySelector(':scope > data');
      return number ? Number(number.value) : cell.textContent;
    }));
  }, caption);
  assert.ok(rows, `there is a table "${caption}"`);
  return rows;
}

/** Columns of a table against values of the data; an absent value is a dash. */
export function assertRows(rows, expected, what) {
  assert.equal(rows.length, expected.length, `${what}: number of rows`);
  expected.forEach((values, index) => {
    for (const [column, value] of Object.entries(values)) {
      assert.equal(rows[index][column], value ?? '\u2013', `${what}: row ${index}, column ${column}`);
    }
  });
}

/**
 * Runs tests one after the other, [{name, body(given)}], with a browser and a folder of reports; `prepare`
 * adds to what they are given. usage: node X_test.mjs PENSTOCK NPM_FOLDER [--update]
 */
export async function runTests(tests, prepare) {
  const [program, npmFolder, option] = process.argv.slice(2);
  if (!npmFolder) {
    console.error(`usage: node ${process.argv[1]} PENSTOCK NPM_FOLDER [--update]`);
    process.exit(2);
  }
  const {context, close} = await openBrowser(npmFolder);
  const reports = new Reports(program);
  let failed = 0;
  try {
    const given = {context, reports, update: option === '--update', ...prepare(reports)};
    for (const {name, body} of tests) {
      try {
        await body(given);
        console.log(`ok      ${name}`);
      } catch (error) {
        ++failed;
        console.log(`FAILED  ${name}\n${error.stack}`);
      }
    }
  } finally {
    reports.close();
    await close();
  }
  console.log(`${tests.length - failed} of ${tests.length} passed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
