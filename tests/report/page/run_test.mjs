// The page of a plan, its run and another plan: predicted against measured, and two plans side by side.
import assert from 'node:assert/strict';

import {kChecks} from './page_checks.mjs';
import {assertRows, open, rowsOf, runTests, unfold} from './page_tools.mjs';

const tests = [];
const test = (name, body) => tests.push({name, body});

for (const [name, check] of kChecks) test(name, ({context, close}) => check(context, close));

test('what was measured has a section and a timeline below the predicted one', async ({context, close}) => {
  const {page} = await open(context, close);
  const ids = await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id));
  assert.deepEqual(ids, ['verdict', 'timeline', 'plans', 'memory', 'time', 'comparison', 'validation', 'assumptions',
                         'numbers']);
  const shown = await page.evaluate(() => window.penstock.timelines.map(({json}) => json.what));
  assert.deepEqual(shown, ['predicted', 'measured']);
  await page.close();
});

test('a prediction within the tolerance passes, in words', async ({context, close}) => {
  // Measured 1.05 times what was predicted: too short by 0.05 / 1.05 = 4.8 %.
  assert.equal(close.data.validation.holds, true);
  const {page} = await open(context, close);
  const text = (await page.locator('#validation').textContent()).replaceAll('\u00a0', ' ');
  assert.match(text, /The prediction is 4\.8 % too short/);
  assert.match(text, /✓ pass The error is within the tolerance of 10\.0 %\./);
  await page.close();
});

test('one beyond it fails, in words', async ({context, far}) => {
  assert.equal(far.data.validation.holds, false);
  const {page} = await open(context, far);
  const text = (await page.locator('#validation').textContent()).replaceAll('\u00a0', ' ');
  assert.match(text, /The prediction is 50\.0 % too short/);
  assert.match(text, /✗ fail The error is beyond the tolerance of 10\.0 %\./);
  await page.close();
});

test('tables of the validation hold the numbers of the data', async ({context, close}) => {
  const {page} = await open(context, close);
  const {kinds, ranks, actions} = close.data.validation;
  await unfold(page);
  assertRows(await rowsOf(page, 'By kind of action'), kinds.map((kind) => ({
    0: `${kind.stage}${kind.kind}`, 1: kind.count, 2: kind.predicted_ns, 3: kind.measured_ns, 4: kind.fastest_ns,
    5: kind.slowest_ns, 6: (kind.predicted_ns - kind.measured_ns) / kind.measured_ns,
  })), 'kinds');
  assertRows(await rowsOf(page, 'By rank'), ranks.map((rank) => ({
    0: rank.rank, 1: rank.predicted_busy_ns, 2: rank.measured_busy_ns, 4: rank.predicted_end_ns, 5: rank.measured_end_ns,
  })), 'ranks');
  const shift = (action) => Math.abs(action.measured_end_ns - action.predicted_end_ns);
  const worst = [...actions].sort((a, b) => shift(b) - shift(a));
  const asRows = (some) => some.map((action) => ({
    0: action.action, 1: action.rank, 2: action.predicted_start_ns, 3: action.predicted_end_ns,
    4: action.measured_start_ns, 5: action.measured_end_ns, 6: action.measured_end_ns - action.predicted_end_ns,
  }));
  assertRows(await rowsOf(page, 'The actions that are farthest off'), asRows(worst.slice(0, 10)), 'worst');
  assertRows(await rowsOf(page, 'All actions'), asRows(worst), 'actions');
  await page.close();
});

test('a plan file and its baseline are compared', async ({context, close}) => {
  const {page} = await open(context, close);
  const [a, b] = close.data.plans.map(({prediction}) => prediction.step_time_ns);
  const [step] = await rowsOf(page, 'Outcome');
  assert.deepEqual(step.slice(0, 4), ['step', a, b, b - a]);
  const decisions = await rowsOf(page, 'Decisions that differ');
  assert.deepEqual(decisions.find(([name]) => name === 'schedule'), ['schedule', '1f1b', 'gpipe']);
  await page.close();
});

await runTests(tests, (reports) => ({close: reports.measured(1.05), far: reports.measured(2)}));
