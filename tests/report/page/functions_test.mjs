// What the page computes, without a page: numbers in words, sorting, files, thinned curves.
import assert from 'node:assert/strict';
import test from 'node:test';

import {kSource} from './reports.mjs';
import {importScripts} from './timeline_page.mjs';

const kScripts = ['format.js', 'address.js', 'table.js', 'plan_words.js', 'timeline_memory.js', 'charts.js', 'memory.js', 'compare.js', 'validation.js'];
const page = await importScripts(kSource, kScripts, [
  'durationText', 'bytesText', 'percentText', 'dollarsText', 'signedText', 'relativeText', 'countOf', 'durationTick',
  'compareCells', 'sortedRows', 'rowsAsCsv', 'rowsAsObjects', 'decimate', 'stackedSeries', 'tightestRank', 'busiestRank', 'roomText',
  'errorOf', 'comparisonFinding', 'decisionsOf', 'foldRanks', 'ranksWords', 'ranksCell', 'parseAddress', 'addressOf',
  'stashOfColumns', 'memoryAt',
]);
const spaced = (text) => text.replaceAll('\u00a0', ' ');

test('durations have four digits and the unit in which they are not small', () => {
  const expected = [[4687871405, '4.688 s'], [95140000, '95.14 ms'], [12000, '12.00 us'], [999, '999 ns'], [0, '0 ns'],
                    [12345678000000, '12,346 s']];
  for (const [ns, text] of expected) assert.equal(spaced(page.durationText(ns)), text);
  assert.equal(spaced(page.durationTick(500000000)), '500 ms');
  assert.equal(spaced(page.durationTick(1500000000)), '1.5 s');
  assert.equal(spaced(page.durationTick(100000000000)), '100 s');
});

test('bytes of a device are in GiB, small ones in a smaller unit', () => {
  const expected = [[38398659536, '35.8 GiB'], [0, '0 B'], [1023, '1023 B'], [1536, '1.5 KiB'], [33554432, '32.0 MiB'],
                    [2 ** 30 / 8, '0.1 GiB'], [1.5 * 2 ** 40, '1.5 TiB']];
  for (const [bytes, text] of expected) assert.equal(spaced(page.bytesText(bytes)), text);
});

test('differences carry a sign', () => {
  assert.equal(page.signedText(0, page.percentText), '\u00b10');
  assert.equal(spaced(page.signedText(-0.031, page.percentText)), '\u22123.1 %');
  assert.equal(spaced(page.relativeText(200, 206)), '+3.0 %');
  assert.equal(page.relativeText(0, 5), '\u2013');
  assert.equal(page.countOf(1, 'plan'), '1 plan');
  assert.equal(page.countOf(2000, 'plan'), '2,000 plans');
  assert.equal(page.dollarsText(0.325566), '$0.3256');
});

test('rows sort by value, equal ones keep their order, absent ones come last both ways', () => {
  const rows = [{n: 'a', v: 10}, {n: 'b', v: null}, {n: 'c', v: 9}, {n: 'd', v: 10}];
  const names = (direction) => page.sortedRows(rows, {value: ({v}) => v}, direction).map(({n}) => n).join('');
  assert.equal(names(1), 'cadb');
  assert.equal(names(-1), 'adcb');
});

test('CSV quotes what would break a cell', () => {
  const columns = [{key: 'name', value: ({name}) => name}, {key: 'n', value: ({n}) => n}];
  const rows = [{name: 'a,b', n: 1}, {name: 'say "x"', n: null}, {name: 'two\nlines', n: 0}];
  assert.equal(page.rowsAsCsv(columns, rows), 'name,n\r\n"a,b",1\r\n"say ""x""",\r\n"two\nlines",0\r\n');
  assert.deepEqual(page.rowsAsObjects(columns, rows)[1], {name: 'say "x"', n: null});
});

test('a thinned curve keeps first, least, greatest and last of every column', () => {
  // Two columns over 0 to 15: the points 0..7 and 8..15.
  const times = Array.from({length: 16}, (_, index) => index);
  const values = [5, 1, 9, 4, 4, 4, 4, 6, 0, 0, 3, -2, 8, 0, 0, 7];
  const thin = page.decimate(times, values, 2);
  assert.deepEqual(thin.times, [0, 1, 2, 7, 8, 11, 12, 15]);
  assert.deepEqual(thin.values, [5, 1, 9, 6, 0, -2, 8, 7]);
});

test('a thinned curve of a million points has its extremes and at most four points a column', () => {
  const count = 1_000_000;
  const times = Float64Array.from({length: count}, (_, index) => index * 3);
  const values = Float64Array.from({length: count}, (_, index) => (index * 7919) % 1000);
  values[123456] = 5000;
  values[654321] = -5000;
  const thin = page.decimate(times, values, 500);
  assert.ok(thin.times.length <= 2000);
  assert.equal(Math.max(...thin.values), 5000);
  assert.equal(Math.min(...thin.values), -5000);
  assert.ok(thin.times.every((time, index) => index === 0 || time > thin.times[index - 1]));
});

test('a short curve is not thinned', () => {
  assert.deepEqual(page.decimate([0, 5, 7], [1, 2, 3], 10), {times: [0, 5, 7], values: [1, 2, 3]});
});

test('memory is stacked from what does not change to the activations on top', () => {
  const GiB = 2 ** 30;
  const memory = {constant_bytes: {parameters: 4 * GiB, gradients: 3 * GiB, optimizer_state: 2 * GiB, working: GiB,
                                   communication: 0, reserve: 2 * GiB}};
  const series = page.stackedSeries(memory, {values: [0, 5 * GiB]});
  assert.deepEqual(series.map(({values}) => values),
      [[12, 17], [12, 12], [10, 10], [10, 10], [9, 9], [7, 7], [4, 4]]);
});

test('of equal ranks the first is the tightest, and the busiest', () => {
  const rank = (left, busy) => ({capacity_bytes: 100, memory: {total_bytes: 100 - left}, time: {busy_ns: busy}});
  const prediction = {ranks: [rank(5, 7), rank(3, 9), rank(3, 9)]};
  assert.equal(page.tightestRank(prediction), 1);
  assert.equal(page.busiestRank(prediction), 1);
  assert.equal(page.tightestRank({}), -1);
});

test('what does not fit is over, not negative', () => {
  assert.equal(spaced(page.roomText(2 ** 30)), '1.0 GiB left');
  assert.equal(spaced(page.roomText(-1.5 * 2 ** 30)), '1.5 GiB over');
});

test('an error is relative to what was measured', () => {
  assert.equal(page.errorOf(183, 200), -0.085);
  assert.equal(page.errorOf(1, 0), null);
});

test('a comparison is a sentence', () => {
  const plan = (title, step, memory) => ({title, prediction: {step_time_ns: step, peak_memory_bytes: memory}});
  const GiB = 2 ** 30;
  const say = (left, right) => spaced(page.comparisonFinding(left, right));
  assert.equal(say(plan('1', 1000, 4 * GiB), plan('2', 1031, 3 * GiB)),
      'A step of plan 2 takes 3.1 % longer than one of plan 1, and its fullest rank needs 1.0 GiB less memory.');
  assert.equal(say(plan('2', 1000, 3 * GiB), plan('old.json', 1000, 3 * GiB)),
      'A step of old.json takes as long as one of plan 2, and its fullest rank needs the same memory.');
});

test('decisions of both plans are laid side by side, also those that one lacks', () => {
  const decisions = page.decisionsOf({plan: {zero1: true, cuts: [0, 4]}}, {plan: {cuts: [0, 5], new_one: 3}});
  assert.deepEqual(decisions, [
    {key: 'zero1', name: 'ZeRO-1', left: 'on', right: '\u2013'},
    {key: 'cuts', name: 'first section of each stage', left: '0 4', right: '0 5'},
    {key: 'new_one', name: 'new one', left: '\u2013', right: '3'},
  ]);
});

test('ranks with the same numbers are one row', () => {
  const fold = (rows) => page.foldRanks(rows, (row) => row).map((one) => [page.ranksCell(one, rows.length),
                                                                      page.ranksWords(one, rows.length)]);
  assert.deepEqual(fold([7, 7, 7]), [['all 3', 'all 3 PP ranks']]);
  assert.deepEqual(fold([5, 7, 7, 5]), [[0, 'PP rank 0'], ['1 to 2', 'PP ranks 1 to 2'], [3, 'PP rank 3']]);
  assert.deepEqual(fold([5]), [[0, 'PP rank 0']]);
});

test('an address is a section, or all that was chosen', () => {
  const both = (hash) => [[...page.parseAddress(hash)], page.addressOf(page.parseAddress(hash))];
  assert.deepEqual(both(''), [[], '']);
  assert.deepEqual(both('#plans'), [[['at', 'plans']], '#plans']);
  const [values, address] = both('#at=plans&plan=3&box=2B7&rank=2');
  assert.deepEqual(values, [['at', 'plans'], ['plan', '3'], ['box', '2B7'], ['rank', '2']]);
  assert.equal(address, '#at=plans&box=2B7&rank=2&plan=3');
  assert.deepEqual([...page.parseAddress(page.addressOf(new Map([['box', '(0F7;7B3)OVERLAP_F_B']])))],
      [['box', '(0F7;7B3)OVERLAP_F_B']]);
});

test('a column of the memory strip shows the most that its time holds', () => {
  // Held from 10, 20, 26 and 40 on; before, nothing.
  const boxes = {pointTime: Uint32Array.of(10, 20, 26, 40), stash: Float64Array.of(1, 5, 2, 0)};
  const memory = {first: 0, count: 4, constant_bytes: {parameters: 100, reserve: 10}};
  const columns = (t0, t1, count) => [...page.stashOfColumns(boxes, memory, {t0, t1, columns: count})];
  assert.deepEqual(columns(0, 50, 5), [0, 1, 5, 2, 2]);
  assert.deepEqual(columns(25, 35, 2), [5, 2]);
  assert.deepEqual(columns(40, 50, 1), [0]);
  assert.deepEqual([0, 10, 25, 45].map((tick) => page.memoryAt(boxes, memory, tick).total), [110, 111, 115, 110]);
});
