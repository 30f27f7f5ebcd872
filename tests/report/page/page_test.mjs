// The report's page, written by the program and opened in a browser.
// usage: node page_test.mjs PENSTOCK NPM_FOLDER [--update]
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';

import {openBrowser, openPage} from './browser.mjs';
import {textsBelow} from './contrast.mjs';
import {comparePictures} from './pictures.mjs';
import {kHostile, Reports} from './reports.mjs';

const [program, npmFolder, ...options] = process.argv.slice(2);
if (!npmFolder) {
  console.error('usage: node page_test.mjs PENSTOCK NPM_FOLDER [--update]');
  process.exit(2);
}

const tests = [];
const test = (name, body) => tests.push({name, body});

/** Opens a report and waits until all is drawn. */
async function open(context, report) {
  const opened = await openPage(context, report.file);
  assert.equal(await opened.page.evaluate(() => window.penstock.ready), true);
  return opened;
}

/** Every `details` opened and every long table shown whole. */
async function unfold(page) {
  await page.evaluate(async () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
    await new Promise((resolve) => setTimeout(resolve));
    for (const more of document.querySelectorAll('.more')) more.click();
  });
}

/** Sets the system's theme, and waits until the page has noticed. */
async function untilTheme(page, theme) {
  await page.emulateMedia({colorScheme: theme});
  await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
}

/** The cells of the table with this caption: exact numbers where there are some, else text. */
async function rowsOf(page, caption) {
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
function assertRows(rows, expected, what) {
  assert.equal(rows.length, expected.length, `${what}: number of rows`);
  expected.forEach((values, index) => {
    for (const [column, value] of Object.entries(values)) {
      assert.equal(rows[index][column], value ?? '\u2013', `${what}: row ${index}, column ${column}`);
    }
  });
}

test('one request, no error, and nothing that could be loaded', async ({context, search, plan}) => {
  for (const report of [search, plan]) {
    const {page, requests, errors} = await open(context, report);
    await unfold(page);
    assert.deepEqual(errors, []);
    assert.equal(requests.length, 1, requests.join('\n'));
    assert.ok(!/(src|href|action)\s*=\s*["']?\s*(https?:)?\/\//i.test(report.html), 'an address in an attribute');
    assert.ok(!/url\(\s*["']?\s*(https?:)?\/\//i.test(report.html), 'an address in a style');
    const elements = await page.evaluate(() =>
        document.querySelectorAll('script[src], link:not([href="data:,"]), iframe, object, embed, audio, video').length);
    assert.equal(elements, 0);
    await page.close();
  }
});

test('sections stand in reading order, each in the contents', async ({context, search}) => {
  const {page} = await open(context, search);
  const ids = await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id));
  assert.deepEqual(ids, ['verdict', 'plans', 'timeline', 'memory', 'time', 'pareto', 'staircase', 'comparison',
                         'numbers']);
  const links = await page.evaluate(() =>
      [...document.querySelectorAll('#contents a')].map((link) => link.getAttribute('href')));
  assert.deepEqual(links, ids.map((id) => `#${id}`));
  await page.close();
});

test('the verdict says what the data say', async ({context, search}) => {
  const {page} = await open(context, search);
  const {verdict, command, tool, inputs, plans} = search.data;
  const text = await page.evaluate(() => document.getElementById('verdict').textContent);
  for (const part of [verdict.text, verdict.confidence, command, tool, ...inputs.flatMap(({path, hash}) => [path, hash])]) {
    assert.ok(text.includes(part), `"${part}" is in the verdict`);
  }
  const figures = await page.evaluate(() =>
      [...document.querySelectorAll('.figures data')].map(({value}) => Number(value)));
  assert.equal(figures[0], plans[0].prediction.step_time_ns);
  assert.equal(figures.at(-1), plans[0].plan.devices);
  await page.close();
});

test('tables hold the numbers of the data', async ({context, search, plan}) => {
  const {page} = await open(context, search);
  const {data} = search;
  await unfold(page);
  assertRows(await rowsOf(page, 'Plans with reasons'), data.plans.map(({title, plan: p, prediction: e}) => ({
    0: title, 1: e.step_time_ns, 3: e.tokens_per_s, 4: e.peak_memory_bytes, 5: e.bubble_rate_makespan,
    6: e.cost_usd_per_mtok, 7: p.schedule, 8: p.tensor, 9: p.pipeline, 10: p.chunks, 11: p.data,
    12: p.micro_batch_size, 13: p.micro_batches, 14: p.recompute, 15: p.zero1 ? 'on' : 'off', 16: p.devices,
  })), 'plans');
  assertRows(await rowsOf(page, 'Parts of the step of the busiest rank'), data.parts.map((part) =>
    ({0: part.part, 1: part.time_ns, 2: part.share, 4: part.meaning})), 'parts');
  assertRows(await rowsOf(page, 'What-if'), data.changes.map((change) =>
    ({0: change.change, 1: change.step_time_ns, 2: change.gain})), 'what-if');
  assertRows(await rowsOf(page, 'The best plan for every number of GPUs'), data.staircase.map((step) =>
    ({0: step.gpus, 1: step.tokens_per_s, 2: step.step_time_ns})), 'staircase');
  assertRows(await rowsOf(page, 'Peak memory by rank'), data.plans[0].prediction.ranks.map((rank, index) => ({
    0: index, 1: rank.memory.parameters_bytes, 2: rank.memory.gradients_bytes, 3: rank.memory.optimizer_state_bytes,
    4: rank.memory.working_peak_bytes, 5: rank.memory.communication_bytes, 6: rank.memory.reserve_bytes,
    7: rank.memory.stash_bytes, 8: rank.memory.total_bytes, 9: rank.capacity_bytes,
    10: rank.capacity_bytes - rank.memory.total_bytes,
  })), 'memory');
  assertRows(await rowsOf(page, 'Time by rank of plan 1'), data.plans[0].prediction.ranks.map(({time}, index) => ({
    0: index, 1: time.busy_ns, 2: time.warm_up_ns, 3: time.drain_ns, 4: time.imbalance_ns, 5: time.order_ns,
    6: time.transfer_ns, 7: time.barrier_ns,
  })), 'time');
  assertRows(await rowsOf(page, 'Candidates that cannot run, by reason'), data.rejected.map((row) =>
    ({1: row.candidates, 2: row.least_over_bytes, 3: row.most_over_bytes})), 'rejected');
  assertRows(await rowsOf(page, "Assumptions, and the share of the busiest rank's compute time that each touches"),
      data.assumptions.map(({text, share}) => ({0: text, 1: share || null})), 'assumptions');
  await page.close();
});

test('stash over time is what the payload holds, and its peak is the predicted one', async ({context, search}) => {
  const {page} = await open(context, search);
  await unfold(page);
  const predicted = search.data.timelines.find(({what}) => what === 'predicted');
  for (const memory of predicted.memory) {
    const constant = Object.values(memory.constant_bytes).reduce((sum, bytes) => sum + bytes, 0);
    const rows = predicted.memory.length > 4 ? null
        : await rowsOf(page, `Stash of rank ${memory.rank} over time`);
    if (!rows) break;
    assert.equal(rows.length, memory.count);
    assert.equal(constant + Math.max(...rows.map(([, stash]) => stash)), memory.peak_bytes);
    assert.ok(rows.every(([time], index) => index === 0 || time >= rows[index - 1][0]), 'time ascends');
  }
  await page.close();
});

test('parts of the step sum to it', async ({context, search}) => {
  const {page} = await open(context, search);
  const widths = await page.evaluate(() => [...document.querySelectorAll('.parts-bar .segment')]
      .map(({style}) => parseFloat(style.width)));
  assert.ok(Math.abs(widths.reduce((sum, width) => sum + width, 0) - 100) < 0.01);
  await page.close();
});

test('every column of the plans sorts, upwards and downwards', async ({context, search}) => {
  const {page} = await open(context, search);
  const sorted = await page.evaluate(() => {
    const table = document.querySelector('#plans table');
    const heads = table.tHead.rows[0].cells;
    const wrong = [];
    for (let column = 0; column < heads.length; ++column) {
      for (const direction of ['ascending', 'descending']) {
        heads[column].querySelector('button').click();
        const states = [...heads].map((head) => head.getAttribute('aria-sort'));
        const cells = [...table.querySelectorAll('.plan')].map((row) => row.cells[column]);
        const keys = cells.map((cell) => cell.querySelector('data')?.value ?? cell.textContent)
            .filter((key) => key !== '\u2013');
        const numbers = keys.map(Number);
        const values = numbers.some(Number.isNaN) ? keys : numbers;
        const sign = direction === 'ascending' ? 1 : -1;
        const isOrdered = values.every((value, i) => i === 0 ||
            (values[i - 1] < value ? -1 : values[i - 1] > value ? 1 : 0) * sign <= 0);
        const isMarked = states.every((state, i) => state === (i === column ? direction : 'none'));
        const isWhole = [...table.tBodies].every((body) => body.rows.length === 2);
        if (!isOrdered || !isMarked || !isWhole) wrong.push(`${heads[column].textContent} ${direction}`);
      }
    }
    return {wrong, columns: heads.length};
  });
  assert.deepEqual(sorted.wrong, []);
  assert.equal(sorted.columns, 18);
  await page.close();
});

test('the theme follows the system, then the button, and is not stored', async ({context, search}) => {
  const {page} = await open(context, search);
  const state = () => page.evaluate(() => ({
    theme: document.documentElement.dataset.theme, pressed: document.getElementById('theme').ariaPressed,
    ground: getComputedStyle(document.body).backgroundColor,
  }));
  await untilTheme(page, 'dark');
  const dark = await state();
  assert.equal(dark.pressed, 'true');
  await page.click('#theme');
  const light = await state();
  assert.equal(light.theme, 'light');
  assert.equal(light.pressed, 'false');
  assert.notEqual(light.ground, dark.ground);
  assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, '']);
  await page.reload();
  assert.equal((await state()).theme, 'dark', 'the system\'s again');
  await page.close();
});

test('curves are drawn again in the colours of the theme', async ({context, search}) => {
  const {page} = await open(context, search);
  await untilTheme(page, 'light');
  const colours = () => page.evaluate(() => {
    const canvas = document.querySelector('#memory canvas');
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const counts = new Map();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 255) continue;
      const key = `${data[i]},${data[i + 1]},${data[i + 2]}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return {greatest: [...counts].sort((a, b) => b[1] - a[1])[0]?.[0], stash: getComputedStyle(
        document.documentElement).getPropertyValue('--memory-stash').trim()};
  });
  const asHex = (key) => '#' + key.split(',').map((part) => Number(part).toString(16).padStart(2, '0')).join('');
  const light = await colours();
  assert.ok(light.greatest, 'something is drawn');
  await page.click('#theme');
  const dark = await colours();
  assert.notEqual(light.greatest, dark.greatest);
  for (const {greatest} of [light, dark]) assert.match(asHex(greatest), /^#[0-9a-f]{6}$/);
  await page.close();
});

test('two plans are compared with signs and percentages', async ({context, search}) => {
  const {page} = await open(context, search);
  const {plans} = search.data;
  await page.evaluate(() => document.querySelectorAll('.pick')[2].click());
  const selects = page.locator('#comparison select');
  assert.equal(await selects.nth(1).evaluate((select) => select.selectedIndex), 2);
  assert.equal(await page.evaluate(() => document.querySelectorAll('.pick[aria-pressed="true"]').length), 1);
  const check = async (left, right) => {
    const [a, b] = [plans[left], plans[right]];
    const [step] = await rowsOf(page, 'Outcome');
    const difference = b.prediction.step_time_ns - a.prediction.step_time_ns;
    assert.deepEqual(step.slice(0, 4), ['step', a.prediction.step_time_ns, b.prediction.step_time_ns, difference]);
    const share = 100 * (b.prediction.step_time_ns / a.prediction.step_time_ns - 1);
    const sign = share > 0 ? '+' : '\u2212';
    assert.equal(step[4], difference === 0 ? '\u00b10' : `${sign}${Math.abs(share).toFixed(1)}\u00a0%`);
    const memory = await rowsOf(page, 'Memory of the tightest rank');
    assert.equal(memory.at(-1)[3], memory.slice(0, -1).reduce((sum, row) => sum + row[3], 0), 'parts sum to the total');
    const shown = await page.evaluate(() => [...document.querySelectorAll('#comparison tbody th')].map((cell) => cell.textContent));
    const keys = Object.keys(a.plan).filter((key) => JSON.stringify(a.plan[key]) !== JSON.stringify(b.plan[key]));
    const decisions = keys.length === 0 ? [] : await rowsOf(page, 'Decisions that differ');
    assert.equal(decisions.length, keys.length);
    assert.ok(shown.includes('compute'));
  };
  await check(0, 2);
  await selects.nth(0).selectOption({index: 1});
  await selects.nth(1).selectOption({index: 0});
  await check(1, 0);
  await page.close();
});

test('a click in a row picks the plan, one on its other controls does not', async ({context, search}) => {
  const {page} = await open(context, search);
  const picked = () => page.evaluate(() => document.querySelector('.pick[aria-pressed="true"]')?.textContent);
  const before = await picked();
  await page.locator('#plans tbody').nth(2).locator('.copy').click();
  assert.equal(await picked(), before);
  await page.locator('#plans tbody').nth(2).locator('tr.plan td').nth(3).click();
  assert.equal(await picked(), search.data.plans[2].title);
  await page.close();
});

test('what is saved is what is embedded', async ({context, search}) => {
  const {page} = await open(context, search);
  const save = async (selector) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
    return readFileSync(await download.path(), 'utf8');
  };
  assert.deepEqual(JSON.parse(await save('#save-data')), search.data);
  const plans = JSON.parse(await save('[aria-label="Save plans as JSON"]'));
  assert.deepEqual(plans.map((row) => row.step_time_ns), search.data.plans.map(({prediction}) => prediction.step_time_ns));
  const lines = (await save('[aria-label="Save plans as CSV"]')).trimEnd().split('\r\n');
  assert.equal(lines.length, search.data.plans.length + 1);
  const actions = await save('.files li:nth-child(2) button');
  assert.equal(actions.trimEnd().split('\r\n').length, search.data.timelines[0].boxes + 1);
  await page.close();
});

test('commands can be copied', async ({context, search}) => {
  const {page} = await open(context, search);
  const button = page.locator('[aria-label="Copy: the command of this report"]');
  await button.click();
  await page.waitForFunction(() => document.getElementById('announcer').textContent === 'Copied');
  assert.equal(await button.textContent(), 'Copied');
  await page.close();
});

test('text has a contrast of at least 4.5 in both themes', async ({context, search, plan}) => {
  for (const report of [search, plan]) {
    for (const colorScheme of ['light', 'dark']) {
      const {page} = await open(context, report);
      await untilTheme(page, colorScheme);
      await unfold(page);
      assert.deepEqual(await page.evaluate(textsBelow, 4.5), [], colorScheme);
      await page.close();
    }
  }
});

test('landmarks, headings, labels, captions and scopes', async ({context, search, plan}) => {
  for (const report of [search, plan]) {
    const {page} = await open(context, report);
    await unfold(page);
    const found = await page.evaluate(() => {
      const all = (selector) => [...document.querySelectorAll(selector)];
      const nameOf = (node) => node.getAttribute('aria-label') ||
          (node.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent).join('') ||
          [...node.labels ?? []].map((label) => label.textContent).join('') || (node.tagName === 'BUTTON' ? node.textContent : '');
      const levels = all('h1, h2, h3, h4').map((heading) => Number(heading.tagName[1]));
      return {
        landmarks: ['header', 'nav', 'main', 'footer'].map((tag) => all(tag).length),
        language: document.documentElement.lang,
        firstHeadings: levels.filter((level) => level === 1).length,
        jumps: levels.filter((level, i) => i > 0 && level > levels[i - 1] + 1).length,
        unnamed: all('button, select, input, [role="img"], [role="region"], [role="application"], section')
            .filter((node) => nameOf(node).trim() === '').map((node) => node.outerHTML.slice(0, 120)),
        withoutCaption: all('table').filter((table) => !table.caption?.textContent).length,
        withoutScope: all('th:not([scope])').length,
        sameIds: all('[id]').length - new Set(all('[id]').map(({id}) => id)).size,
      };
    });
    assert.deepEqual(found, {landmarks: [1, 1, 1, 1], language: 'en', firstHeadings: 1, jumps: 0, unnamed: [],
                             withoutCaption: 0, withoutScope: 0, sameIds: 0});
    await page.close();
  }
});

test('Tab reaches everything that can be used, and shows where it is', async ({context, search}) => {
  const {page} = await open(context, search);
  const expected = await page.evaluate(() => {
    const usable = [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
        .filter((node) => !node.disabled && node.tabIndex >= 0 && node.checkVisibility({visibilityProperty: true}));
    usable.forEach((node, index) => node.dataset.stop = index);
    return usable.length;
  });
  assert.ok(expected > 50);
  const stops = new Set();
  for (let presses = 0; presses <= expected + 5; ++presses) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const style = getComputedStyle(document.activeElement);
      return {stop: document.activeElement.dataset.stop, visible: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1,
              name: document.activeElement.outerHTML.slice(0, 100)};
    });
    if (at.stop === undefined) break;
    if (presses === 0) assert.equal(at.stop, '0', 'the skip link is first');
    assert.ok(at.visible, `focus is seen on ${at.name}`);
    stops.add(at.stop);
  }
  const missed = await page.evaluate((seen) => [...document.querySelectorAll('[data-stop]')]
      .filter((node) => !seen.includes(node.dataset.stop)).map((node) => node.outerHTML.slice(0, 100)), [...stops]);
  assert.deepEqual(missed, []);
  await page.close();
});

test('the skip link leads to the report', async ({context, search}) => {
  const {page} = await open(context, search);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.close();
});

test('narrow windows do not scroll sideways', async ({context, search, plan}) => {
  for (const report of [search, plan]) {
    const {page} = await open(context, report);
    await unfold(page);
    for (const width of [360, 400, 768, 1200]) {
      await page.setViewportSize({width, height: 800});
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `at ${width} px`);
    }
    await page.close();
  }
});

test('on paper there are no controls, and light colours', async ({context, search}) => {
  const {page} = await open(context, search);
  await untilTheme(page, 'dark');
  await page.emulateMedia({media: 'print'});
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
  const shown = await page.evaluate(() => [...document.querySelectorAll('.bar, .copy, .choices, .actions, .timeline-bar')]
      .filter((node) => node.checkVisibility()).length);
  assert.equal(shown, 0);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.close();
});

test('without uPlot a sentence stands in for every curve, and all else works', async ({context, search, reports}) => {
  const curves = await open(context, search);
  const charts = await curves.page.locator('.chart').count();
  await curves.page.close();
  const {page, errors} = await open(context, reports.withoutCurves(search));
  assert.deepEqual(errors, []);
  const sentences = await page.locator('.no-curves').allTextContents();
  assert.equal(sentences.length, charts);
  assert.ok(charts >= 3);
  for (const text of sentences) assert.equal(text, 'This build was made without uPlot: the numbers are in the tables.');
  await unfold(page);
  assert.equal((await rowsOf(page, 'The best plan for every number of GPUs')).length, search.data.staircase.length);
  await page.close();
});

test('a payload that was cut short is said, and the rest of the page stands', async ({context, search, reports}) => {
  const cut = search.html.replace(/(id="timeline-0">[^<]{200})[^<]*/, '$1');
  assert.notEqual(cut, search.html);
  const {page, errors} = await open(context, reports.keep('cut.html', cut));
  assert.deepEqual(errors, []);
  assert.match(await page.locator('#timeline .problem').textContent(), /^This timeline cannot be shown: ./);
  assert.equal(await page.locator('main > section').count(), 9);
  await page.close();
});

test('a name is a text, whatever is in it', async ({context, reports}) => {
  const report = reports.hostile();
  assert.equal(report.data.model, kHostile);
  const {page, requests, errors} = await open(context, report);
  await unfold(page);
  assert.deepEqual(errors, []);
  assert.equal(requests.length, 1);
  assert.equal(await page.evaluate(() => window.hostile), undefined);
  assert.equal(await page.locator('h1').textContent(), kHostile);
  assert.equal(await page.locator('img').count(), 0);
  assert.ok((await page.title()).includes(kHostile));
  await page.close();
});

test('the page looks as it did', async ({context, plan}) => {
  await comparePictures(context, plan, options.includes('--update'));
});

async function main() {
  const {context, close} = await openBrowser(npmFolder);
  const reports = new Reports(program);
  let failed = 0;
  try {
    const given = {context, reports, search: reports.search(), plan: reports.plan()};
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

await main();
