// The page of a recording that is replayed under policies.
import assert from 'node:assert/strict';

import {kChecks} from './page_checks.mjs';
import {assertRows, open, rowsOf, runTests, unfold} from './page_tools.mjs';

const tests = [];
const test = (name, body) => tests.push({name, body});

test('its sections stand in reading order, each in the contents', async ({context, morph}) => {
  const {page, errors} = await open(context, morph);
  assert.deepEqual(errors, []);
  const ids = await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id));
  assert.deepEqual(ids, ['verdict', 'availability', 'goodput', 'numbers']);
  await page.close();
});

test('the policies keep what the data say, each with its bar', async ({context, morph}) => {
  const {page} = await open(context, morph);
  const {policies} = morph.data.morph;
  const rows = await rowsOf(page, 'Policies');
  assertRows(rows, policies.map((policy) => ({
    0: policy.policy, 1: policy.steps, 2: policy.share_of_best, 4: policy.lost_steps, 5: policy.changes,
    6: policy.restarting_ns, 7: policy.waiting_ns,
  })), 'policies');
  const widths = await page.evaluate(() =>
      [...document.querySelectorAll('.share-bar span')].map((bar) => parseFloat(bar.style.width)));
  widths.forEach((width, index) =>
    assert.ok(Math.abs(width - Math.min(100, 100 * policies[index].share_of_best)) < 0.01, policies[index].policy));
  await page.close();
});

test('what was started stands in a table, for the policy that is chosen', async ({context, morph}) => {
  const {page} = await open(context, morph);
  const {policies, starts} = morph.data.morph;
  const check = async (index) => {
    await unfold(page);
    const rows = await rowsOf(page, `What was started under ${policies[index].policy}`);
    assertRows(rows, starts[index].map((start) => ({0: start.at_s, 2: start.gpus_used})), policies[index].policy);
    // No plan takes more than there is.
    for (const [, there, used] of rows) assert.ok(used <= there, `${used} of ${there}`);
    assert.equal(rows[0][3], 'the first start');
  };
  await check(0);
  await page.locator('#availability select').selectOption({index: 2});
  await check(2);
  await page.close();
});

test('starts and changes are those that the policies are charged for', async ({morph}) => {
  const {policies, starts, availability} = morph.data.morph;
  policies.forEach((policy, index) => {
    // The first start is free, and so is waiting; torchrun's restarts keep the plan.
    const changes = starts[index].filter((start) => start.gpus_used > 0 && start.at_s > availability[0].at_s);
    assert.equal(changes.length, policy.changes ?? 0, policy.policy);
  });
});

for (const [name, check] of kChecks) test(name, ({context, morph}) => check(context, morph));

await runTests(tests, (reports) => ({morph: reports.morph()}));
