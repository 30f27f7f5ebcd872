// What a timeline shows at first, on steps that were made by hand.
import assert from 'node:assert/strict';
import test from 'node:test';

import {kSource} from './reports.mjs';
import {kKinds, makeTimeline} from './timeline_fixture.mjs';
import {importScripts} from './timeline_page.mjs';

const page = await importScripts(kSource, ['payload.js', 'format.js', 'timeline_opening.js'],
    ['openingSpan', 'decodePayload']);

/** One rank whose boxes follow each other, 10 ticks each: "F B F1 B1", where a number is the stage. */
function stepOf(text) {
  const names = text.split(' ');
  const kinds = ['F', 'B', 'I', 'W', 'OPT'];
  const boxes = {
    count: names.length, kinds,
    kind: Uint8Array.from(names, (name) => kinds.indexOf(name.replace(/\d+$/, ''))),
    stage: Uint16Array.from(names, (name) => Number(/\d*$/.exec(name)[0])),
    start: Uint32Array.from(names, (_, i) => 10 * i), duration: new Uint32Array(names.length).fill(10),
  };
  const json = {length_ns: 10 * names.length, tick_ns: 1,
                rows: [{rank: 0, lane: 'compute', track: 0, first: 0, count: names.length}]};
  return {json, boxes};
}

/** How many boxes are shown, the air behind them aside; Infinity for the whole step. */
function shown(text) {
  const {json, boxes} = stepOf(text);
  const {t0, t1} = page.openingSpan(json, boxes, 10);
  assert.equal(t0, 0);
  return t1 === json.length_ns ? Infinity : Math.round(t1 / 1.02) / 10;
}

test('a step whose boxes can be read is shown whole', async () => {
  const {json, boxes, payload} = makeTimeline(4, 12);
  const decoded = await page.decodePayload({textContent: payload}, json);
  const most = 25;  // boxes of a rank: 12 forwards, 12 backwards, the optimizer
  assert.deepEqual(page.openingSpan(json, decoded, 16 * most), {t0: 0, t1: json.length_ns / json.tick_ns});
  // Else up to the first period of rank 0, which begins its backwards last: 3 forwards, and F3 B0.
  const {t1} = page.openingSpan(json, decoded, 16 * most - 1);
  const last = boxes.find(({rank, kind, microBatch}) => rank === 0 && kKinds[kind] === 'F' && microBatch === 4);
  assert.ok(Math.abs(t1 - 1.02 * (last.start + last.duration)) < 1e-6);
});

test('the first period is the shortest that does all the work of the steady state', () => {
  assert.equal(shown('F F B F B F B F B F B B OPT'), 4);
  // Zero bubble: an input gradient alone is no period.
  assert.equal(shown('F F I F I W F I W F I W F I W F I W W OPT'), 6);
  // Two chunks by turns: a period has both, although each repeats by itself.
  const round = 'F0 B0 F0 B0 F1 B1 F1 B1';
  assert.equal(shown(`F0 F1 ${Array(6).fill(round).join(' ')} OPT`), 11);
});

test('without backwards, without a period and near the end of the step all is shown', () => {
  assert.equal(shown('F F F F F F F F F F'), Infinity);
  assert.equal(shown('F F B1 B2 B3 B4 B5 B6 B7 B8'), Infinity);
  assert.equal(shown('F F F F F F F F B B'), Infinity);
  // All forwards, then all backwards: the second part is shown as far as it says something new.
  assert.equal(shown('F F F F F F B B B B B B OPT'), 7);
});
