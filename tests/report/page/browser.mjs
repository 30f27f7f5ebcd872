// A browser for tests of the report's page: Debian's chromium, headless and without a network, led by
// playwright-core. Where one of them is missing, the test is skipped with a word.
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const kChromium = '/usr/bin/chromium';
const kFlags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
                '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Ends the process in the way that ctest takes for "skipped". */
export function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}

/**
 * @param {string} npmFolder the build's folder with node_modules
 * @param {object} options of the browser's context, such as {colorScheme: 'dark'}
 * @returns {Promise<{context, version: string, close: () => Promise<void>}>}
 */
export async function openBrowser(npmFolder, options = {}) {
  const node = Number(process.versions.node.split('.')[0]);
  if (node < 20) skip(`node is ${process.versions.node}; playwright-core needs 20 or later`);
  if (!existsSync(kChromium)) skip(`there is no ${kChromium} (Debian: apt-get install chromium)`);
  if (!existsSync(join(npmFolder, 'node_modules', 'playwright-core'))) {
    skip(`there is no playwright-core in ${npmFolder} (configure where npm reaches its registry)`);
  }
  const {chromium} = createRequire(resolve(npmFolder, 'package.json'))('playwright-core');
  // A fresh profile: nothing of an earlier run, or of the person at this machine, reaches the page.
  const profile = mkdtempSync(join(tmpdir(), 'penstock-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: kChromium, headless: true, offline: true, args: kFlags, viewport: {width: 1280, height: 900},
    ...options,
  });
  const close = async () => {
    await context.close();
    rmSync(profile, {recursive: true, force: true});
  };
  return {context, version: context.browser()?.version() ?? '', close};
}

/**
 * Opens a file in a page of its own.
 * @returns {Promise<{page, requests: string[], errors: string[]}>} what the page asked for, and what went wrong
 */
export async function openPage(context, file) {
  const page = await context.newPage();
  const requests = [];
  const errors = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(pathToFileURL(resolve(file)).href);
  return {page, requests, errors};
}
