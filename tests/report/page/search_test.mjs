// The page of a search: plans, what was left out, the Pareto front, more or fewer GPUs, comparisons.
import assert from 'node:assert/strict';

import {kChecks} from './page_checks.mjs';
import {assertRows, open, rowsOf, runTests, unfold} from './page_tools.mjs';

const tests = [];
const test = (name, body) => tests.push({name, body});

test('sections stand in reading order, each in the contents', async ({context, search}) => {
  const {page} = await open(context, search);
  const ids = await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id));
  assert.deepEqual(ids, ['verdict', 'timeline', 'plans', 'memory', 'time', 'pareto', 'staircase', 'comparison',
                         'assumptions', 'numbers']);
  const links = await page.evaluate(() =>
      [...document.querySelectorAll('#contents a')].map((link) => link.getAttribute('href')));
  assert.deepEqual(links, [...ids, 'colophon'].map((id) => `#${id}`));
  await page.close();
});

test('tables hold the numbers of the data', async ({context, search}) => {
  const {page} = await open(context, search);
  const {data} = search;
  await unfold(page);
  assertRows(await rowsOf(page, 'Plans with reasons'), data.plans.map(({title, plan: p, prediction: e, ...words}) => ({
    0: title, 1: e.step_time_ns, 3: e.tokens_per_s, 4: e.peak_memory_bytes, 5: e.bubble_rate_makespan,
    6: e.cost_usd_per_mtok, 7: p.tensor, 8: p.pipeline, 9: p.data, 10: p.chunks,
    11: p.micro_batch_size, 12: p.micro_batches, 13: p.pipeline > 1 ? p.schedule : null,
    14: words.recompute_words, 15: words.sharding_words ?? null, 16: p.devices,
  })), 'plans');
  assertRows(await rowsOf(page, 'The best plan for every number of GPUs'), data.staircase.map((step) =>
    ({0: step.gpus, 1: step.tokens_per_s, 2: step.step_time_ns})), 'staircase');
  assertRows(await rowsOf(page, 'Candidates that cannot run, by reason'), data.rejected.map((row) =>
    ({0: row.reason, 1: row.candidates, 2: row.least_over_bytes, 3: row.most_over_bytes})), 'rejected');
  await page.close();
});

test('no plan is a look-alike of another, and each says what differs from the first', async ({context, search}) => {
  const {page} = await open(context, search);
  const {plans} = search.data;
  assert.equal(plans[0].differs, undefined);
  const differences = plans.slice(1).map(({differs}) => differs);
  assert.ok(differences.every((text) => text), differences.join('; '));
  assert.equal(new Set(differences).size, differences.length, differences.join('; '));
  const shown = await page.evaluate(() => [...document.querySelectorAll('#plans .why b')].map((node) => node.textContent));
  assert.deepEqual(shown, differences);
  // The cells that differ are marked.
  const marked = await page.evaluate(() => [...document.querySelectorAll('#plans .plan')].map((row) =>
      [...row.querySelectorAll('.differs')].map((cell) => cell.cellIndex)));
  const cells = await rowsOf(page, 'Plans with reasons');
  cells.forEach((row, i) => assert.deepEqual(marked[i],
      [7, 8, 9, 10, 11, 12, 13, 14, 15, 16].filter((column) => row[column] !== cells[0][column])));
  await page.close();
});

test('the plan that is compared stands in the address', async ({context, search}) => {
  const {page} = await open(context, search);
  await page.evaluate(() => document.querySelectorAll('.pick')[2].click());
  await page.waitForFunction(() => location.hash === '#plan=3');
  await page.reload();
  await page.evaluate(() => window.penstock.ready);
  assert.equal(await page.locator('#comparison select').nth(1).evaluate((select) => select.selectedIndex), 2);
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
    const memory = await rowsOf(page, 'Memory of the fullest rank');
    assert.equal(memory.at(-1)[3], memory.slice(0, -1).reduce((sum, row) => sum + row[3], 0), 'parts sum to the total');
    const all = new Set([...Object.keys(a.plan), ...Object.keys(b.plan)]);
    const keys = [...all].filter((key) => JSON.stringify(a.plan[key]) !== JSON.stringify(b.plan[key]));
    const decisions = keys.length === 0 ? [] : await rowsOf(page, 'Decisions that differ');
    assert.equal(decisions.length, keys.length);
    assert.equal((await rowsOf(page, 'Time of the busiest rank'))[0][0], 'compute');
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

test('where nothing fits, the page says so and why', async ({context, reports}) => {
  const report = reports.nothing();
  assert.deepEqual(report.data.plans, []);
  const {page, errors} = await open(context, report);
  assert.deepEqual(errors, []);
  const ids = await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id));
  assert.deepEqual(ids, ['verdict', 'plans', 'staircase', 'assumptions', 'numbers']);
  assertRows(await rowsOf(page, 'Candidates that cannot run, by reason'), report.data.rejected.map((row) =>
    ({0: row.reason, 1: row.candidates, 2: row.least_over_bytes, 3: row.most_over_bytes})), 'rejected');
  await page.close();
});

for (const [name, check] of kChecks) test(name, ({context, search}) => check(context, search));

await runTests(tests, (reports) => ({search: reports.search()}));
