// The page of batches of samples of different lengths.
import assert from 'node:assert/strict';

import {kChecks} from './page_checks.mjs';
import {assertRows, open, rowsOf, runTests, unfold} from './page_tools.mjs';

const tests = [];
const test = (name, body) => tests.push({name, body});

test('its sections stand in reading order, each in the contents', async ({context, dynamic}) => {
  const {page, errors} = await open(context, dynamic);
  assert.deepEqual(errors, []);
  const ids = await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id));
  assert.deepEqual(ids, ['verdict', 'timeline', 'methods', 'lengths', 'micro-batches', 'steps', 'memory', 'assumptions',
    'numbers']);
  await page.close();
});

test('the methods have the speeds of the data', async ({context, dynamic}) => {
  const {page} = await open(context, dynamic);
  const {methods} = dynamic.data.dynamic;
  assert.deepEqual(methods.map(({method}) => method), ['dynamic', 'token budget', 'fixed size', 'packing']);
  assertRows(await rowsOf(page, 'Methods'), methods.map((method) => ({
    0: method.method, 1: method.tokens_per_s, 5: method.padding_efficiency, 6: method.mean_step_time_ns,
  })), 'methods');
  await page.close();
});

test('every sample stands in one bin, and every micro-batch in the table of its replica', async ({context, dynamic}) => {
  const {page} = await open(context, dynamic);
  const {histogram, micro_batches: microBatches, methods} = dynamic.data.dynamic;
  const samples = Number(/: ([\d,]+) samples/.exec(dynamic.data.dynamic.lengths)[1].replaceAll(',', ''));
  assert.equal(histogram.reduce((sum, bin) => sum + bin.samples, 0), samples);
  assert.equal(microBatches.length, methods[0].batches[0].micro_batches);
  const weights = microBatches.reduce((sum, {weight}) => sum + weight, 0);
  assert.ok(Math.abs(weights - 1) < 1e-9, `the losses weigh ${weights}`);
  await unfold(page);
  const own = microBatches.filter(({replica}) => replica === 0);
  assertRows(await rowsOf(page, 'Micro-batches of replica 1'), own.map((row) => ({
    0: row.place + 1, 2: row.real_tokens, 3: row.samples * (row.tokens + row.decoder_tokens), 4: row.weight,
  })), 'micro-batches');
  await page.close();
});

test('the steps of every method stand in a table', async ({context, dynamic}) => {
  const {page} = await open(context, dynamic);
  await unfold(page);
  const {methods} = dynamic.data.dynamic;
  assertRows(await rowsOf(page, 'Step times'), methods[0].batches.map((batch, index) => ({
    0: index + 1, 1: batch.step_time_ns, 2: methods[1].batches[index].step_time_ns,
  })), 'steps');
  await page.close();
});

for (const [name, check] of kChecks) test(name, ({context, dynamic}) => check(context, dynamic));

await runTests(tests, (reports) => ({dynamic: reports.dynamic()}));
