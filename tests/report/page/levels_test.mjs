// What the timeline computes, without a browser: coverage, hits, search, axis, payload and words.
import assert from 'node:assert/strict';
import {dirname, resolve} from 'node:path';
import test from 'node:test';
import {fileURLToPath} from 'node:url';
import {makeTimeline} from './timeline_fixture.mjs';
import {importScripts} from './timeline_page.mjs';

const kSource = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const page = await importScripts(kSource,
    ['payload.js', 'levels.js', 'format.js', 'timeline_words.js', 'timeline_layout.js', 'timeline_facts.js',
     'timeline_colours.js'],
    ['decodePayload', 'Cover', 'coverRow', 'boxAt', 'boxNear', 'firstEndingAfter', 'sharesOfKinds', 'findBoxes',
     'boxName', 'axisWords', 'axisMarks', 'layoutLanes', 'laneAt', 'boxFacts', 'boxesLetStart', 'waitWords', 'unknownWaitWords',
     'criticalPath', 'pathWordsOf', 'rangeWords', 'mixColumns', 'packColour', 'inkOn', 'kNoBox']);
const kNone = 0xffffffff;

/** Boxes of one row from [start, duration, kind] each. */
function rowOf(list) {
  return {
    row: {first: 0, count: list.length},
    boxes: {
      count: list.length,
      start: Uint32Array.from(list, ([start]) => start),
      duration: Uint32Array.from(list, ([, duration]) => duration),
      kind: Uint8Array.from(list, ([, , kind = 0]) => kind),
    },
  };
}

function coverOf(list, window, kinds = 1) {
  const {row, boxes} = rowOf(list);
  const cover = new page.Cover(window.columns, kinds);
  page.coverRow(boxes, row, window, cover);
  return cover;
}

/** A generator that repeats itself. */
function numbers(seed) {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 2 ** 32 * below);
  };
}

function randomRow(seed, count, kinds) {
  const next = numbers(seed);
  const list = [];
  for (let i = 0, tick = 0; i < count; ++i) {
    tick += next(4) === 0 ? next(60) : 0;
    const duration = 1 + next(next(8) === 0 ? 200 : 20);
    list.push([tick, duration, next(kinds)]);
    tick += duration;
  }
  return list;
}

test('a box from column 10.5 to 11.75 covers columns 10 and 11 by 0.5 and 0.75', () => {
  // 80 ticks over 20 columns are 4 a column: the box is from tick 42 to 47.
  const cover = coverOf([[42, 5]], {t0: 0, t1: 80, columns: 20});
  const expected = new Array(20).fill(0);
  expected[10] = 0.5;
  expected[11] = 0.75;
  assert.deepEqual([...cover.share], expected);
  assert.deepEqual(cover.runs, []);
});

test('a wide box is a run of whole columns, and its ends are shares', () => {
  // From column 10.5 to 14.25.
  const cover = coverOf([[42, 15]], {t0: 0, t1: 80, columns: 20});
  assert.deepEqual(cover.runs, [{box: 0, from: 11, to: 14}]);
  const shares = [...cover.share].flatMap((share, column) => (share ? [[column, share]] : []));
  assert.deepEqual(shares, [[10, 0.5], [14, 0.25]]);
});

test('what is outside the window covers nothing', () => {
  // Of ticks 42 to 57 the window from 50 to 70 at 4 ticks a column sees columns 0 to 1.75.
  const cover = coverOf([[0, 40], [42, 15], [80, 9]], {t0: 50, t1: 70, columns: 5});
  assert.deepEqual([...cover.share], [1, 0.75, 0, 0, 0]);
  assert.deepEqual(cover.runs, []);
});

test('coverage equals that of every tick by itself, at any zoom', () => {
  const kinds = 3;
  const list = randomRow(7, 400, kinds);
  const length = list.at(-1)[0] + list.at(-1)[1];
  for (const [t0, t1, columns] of [[0, length, 50], [0, length, 997], [100, 400, 64], [333, 350, 170], [length - 9, length, 3]]) {
    const cover = coverOf(list, {t0, t1, columns}, kinds);
    for (const {box, from, to} of cover.runs) {
      for (let column = from; column < to; ++column) cover.share[column * kinds + list[box][2]] += 1;
    }
    const expected = new Float64Array(columns * kinds);
    for (const [start, duration, kind] of list) {
      for (let column = 0; column < columns; ++column) {
        const from = Math.max(t0 + column * (t1 - t0) / columns, start);
        const to = Math.min(t0 + (column + 1) * (t1 - t0) / columns, start + duration);
        if (to > from) expected[column * kinds + kind] += (to - from) * columns / (t1 - t0);
      }
    }
    cover.share.forEach((share, i) => assert.ok(Math.abs(share - expected[i]) < 1e-9, `${t0} ${t1} ${i}: ${share}, ${expected[i]}`));
  }
});

test('the box at a tick is the one that a search through all finds', () => {
  const list = randomRow(3, 200, 2);
  const {row, boxes} = rowOf(list);
  const length = list.at(-1)[0] + list.at(-1)[1];
  for (let tick = -1; tick < length + 2; tick += 0.5) {
    const expected = list.findIndex(([start, duration]) => tick >= start && tick < start + duration);
    assert.equal(page.boxAt(boxes, row, tick), expected, `tick ${tick}`);
  }
});

test('near means the nearest end, and only within the slack', () => {
  const {row, boxes} = rowOf([[10, 10], [30, 10]]);  // 10 to 20, 30 to 40
  assert.equal(page.boxNear(boxes, row, 22, 3), 0);
  assert.equal(page.boxNear(boxes, row, 28, 3), 1);
  assert.equal(page.boxNear(boxes, row, 25, 3), -1);
  assert.equal(page.boxNear(boxes, row, 5, Infinity), 0);
  assert.equal(page.boxNear(boxes, row, 99, Infinity), 1);
  assert.equal(page.boxNear(boxes, {first: 0, count: 0}, 12, Infinity), -1);
});

test('shares of a span are busy time by its length, in the mean of the rows', () => {
  const {boxes} = rowOf([[0, 40, 0], [40, 20, 1], [0, 100, 1]]);
  const rows = [{first: 0, count: 2}, {first: 2, count: 1}];
  // Row 0 from 20 to 100: kind 0 for 20, kind 1 for 20 of 80; row 1: kind 1 for all.
  assert.deepEqual([...page.sharesOfKinds(boxes, rows, 2, 20, 100)], [0.125, 0.625]);
});

test('a column is the mix of what covers it and of the lane', () => {
  const colour = (red, green, blue) => ({red, green, blue, packed: page.packColour(red, green, blue)});
  const colours = {kinds: [colour(200, 0, 0), colour(0, 100, 0)], lane: colour(40, 40, 240)};
  const cover = coverOf([[0, 2, 0], [2, 1, 1]], {t0: 0, t1: 8, columns: 2}, 2);
  const pixels = new Uint32Array(2);
  page.mixColumns(cover, colours, pixels, 0);
  // Column 0: half kind 0, a quarter kind 1, a quarter idle: red 100 + 10, green 25 + 10, blue 60.
  assert.deepEqual([...pixels], [page.packColour(110, 35, 60), colours.lane.packed]);
  assert.equal(page.packColour(1, 2, 3), 0xff030201);
});

test('names are readable on every colour', () => {
  assert.equal(page.inkOn({red: 255, green: 255, blue: 0}), '#000');
  assert.equal(page.inkOn({red: 0, green: 0, blue: 160}), '#fff');
  // Between the two, at a luminance of 0.179, both have a contrast of 4.58: grey 117 is below, 118 above.
  assert.equal(page.inkOn({red: 117, green: 117, blue: 117}), '#fff');
  assert.equal(page.inkOn({red: 118, green: 118, blue: 118}), '#000');
});

test('marks of the axis are round, and say what they differ in', () => {
  assert.deepEqual(page.axisMarks(0, 1e9, 5), {step: 2e8, marks: [0, 2e8, 4e8, 6e8, 8e8, 1e9]});
  assert.deepEqual(page.axisMarks(1250.3e6, 1251e6, 4).marks, [1250.4e6, 1250.6e6, 1250.8e6, 1251e6]);
  assert.equal(page.axisWords(0, 1e6), '0');
  assert.equal(page.axisWords(4.6e9, 2e8), '4.6 s');
  assert.equal(page.axisWords(4650e6, 5e7), '4,650 ms');
  assert.equal(page.axisWords(1250.4e6, 2e5), '1,250.4 ms');
  assert.equal(page.axisWords(4687871405, 5), '4,687,871,405 ns');
});

test('lanes get lower before the view must scroll, down to half', () => {
  const rows = [0, 1, 2, 3].flatMap((rank) => ['compute', 'sends'].map((lane) => ({rank, lane})));
  // A rank: 7 above, 22, 1 between, 10; below the last again 7.
  const natural = page.layoutLanes({rows}, false, 1000);
  assert.equal(natural.height, 4 * 40 + 7);
  assert.deepEqual(natural.lanes.slice(1, 3).map(({top, height, opensRank}) => [top, height, opensRank]),
      [[30, 10, false], [47, 22, true]]);
  assert.equal(page.layoutLanes({rows}, true, 1000).height, 4 * 29 + 7);
  // Half: 3 + 11 + 1 + 5.
  assert.equal(page.layoutLanes({rows}, false, 10).height, 4 * 20 + 3);
  assert.equal(page.laneAt(natural.lanes, 6), -1);
  assert.equal(page.laneAt(natural.lanes, 7), 0);
  assert.equal(page.laneAt(natural.lanes, 29), -1);
});

// One forward and one backward on two ranks: 0F0 0..10, 0SEND_F0 10..12, 1F0 12..22, 1B0 22..42, 1SEND_B0 42..44,
// 0B0 44..64, and a pair that ran as one, 1F1 and 1B7, 42..52.
const kSmall = {
  json: {
    id: 'timeline-0', length_ns: 64000, tick_ns: 1000, boxes: 7, kinds: ['F', 'I', 'B', 'SEND_F', 'SEND_B', 'OVERLAP_F_B'],
    rows: [{rank: 0, replicas: 4, lane: 'compute', first: 0, count: 2}, {rank: 0, replicas: 4, lane: 'sends', first: 2, count: 1},
           {rank: 1, replicas: 1, lane: 'compute', first: 3, count: 3}, {rank: 1, replicas: 1, lane: 'sends', first: 6, count: 1}],
    overlaps: {5: '(1F1;1B7)OVERLAP_F_B'},
  },
  boxes: {
    count: 7,
    start: Uint32Array.of(0, 44, 10, 12, 22, 42, 42),
    duration: Uint32Array.of(10, 20, 2, 10, 20, 10, 2),
    kind: Uint8Array.of(0, 2, 3, 0, 2, 5, 4),
    stage: Uint16Array.of(0, 0, 0, 1, 1, 1, 1),
    microBatch: Uint32Array.of(0, 0, 0, 0, 0, 1, 0),
    row: Uint16Array.of(0, 0, 1, 2, 2, 2, 3),
    flags: Uint8Array.of(1, 1, 1, 1, 1, 0, 1),
    bytes: Float64Array.of(0, 0, 1024, 0, 0, 0, 2048),
    waitedFor: Uint32Array.of(kNone, 6, 0, 2, 3, 4, 4),
    kinds: ['F', 'I', 'B', 'SEND_F', 'SEND_B', 'OVERLAP_F_B'],
  },
};

function find(text) {
  const {hits, problem} = page.findBoxes(kSmall.json, kSmall.boxes, text);
  return problem || [...hits];
}

test('a search means names, stages, micro-batches, ranks, kinds, lanes and the critical path', () => {
  assert.deepEqual(find('1B0'), [4]);
  assert.deepEqual(find(' 0send_f0 '), [2]);
  assert.deepEqual(find('stage 1'), [3, 4, 5, 6]);
  assert.deepEqual(find('mb 1'), [5]);
  assert.deepEqual(find('rank 0'), [0, 2, 1]);  // by time
  assert.deepEqual(find('F'), [0, 3, 5]);
  assert.deepEqual(find('backward, rank 0'), [1]);
  assert.deepEqual(find('send gradient'), [6]);
  assert.deepEqual(find('sends'), [2, 6]);
  assert.deepEqual(find('critical stage 1'), [3, 4, 6]);
  assert.deepEqual(find(''), []);
});

test('a pair that ran as one is found by either name', () => {
  assert.deepEqual(find('1F1'), [5]);
  assert.deepEqual(find('1B7'), [5]);
  assert.deepEqual(find('mb 7'), [5]);
  assert.deepEqual(find('1B'), [4, 5]);
  assert.deepEqual(find('overlap_f_b'), [5]);
  assert.equal(page.boxName(kSmall.json, kSmall.boxes, 5), '(1F1;1B7)OVERLAP_F_B');
});

test('a search that finds nothing says so, and one that means nothing says what would', () => {
  assert.equal(find('9F1'), 'Nothing is called “9F1” in this timeline.');
  assert.match(find('3Q2'), /^“3Q2” is not a name, kind or lane .*: F, I, B, SEND_F, SEND_B, OVERLAP_F_B\.$/);
  assert.match(find('input gradient'), /^Nothing is called “input gradient”/);
  assert.match(find('<b>'), /^“<b>” is not a name/);
});

test('what a box waited for, and for how long its lane was idle', () => {
  const factsOf = (box) => page.boxFacts(kSmall.json, kSmall.boxes, box);
  const words = (box, of = page.waitWords) => of(factsOf(box)).replaceAll('\u00a0', ' ');
  assert.equal(words(0, page.unknownWaitWords), 'nothing: it starts the step');
  assert.equal(words(1), 'its lane was idle for 34.00 us before');
  assert.equal(words(4), 'which ran right before it');
  assert.equal(page.waitWords({...factsOf(4), waitedFor: 2}), 'but its lane was not idle');
  assert.equal(words(1, page.unknownWaitWords), 'its lane was idle for 34.00 us before; the cause is not known');
  assert.equal(words(4, page.unknownWaitWords), 'the end of what ran before it');
  const sent = factsOf(2);
  assert.deepEqual([sent.name, sent.startNs, sent.durationNs, sent.idleNs, sent.previous, sent.waitedFor, sent.onPath],
      ['0SEND_F0', 10000, 2000, 10000, page.kNoBox, 0, true]);
  assert.deepEqual(page.boxesLetStart(kSmall.boxes, 4, 6), [5, 6]);
});

test('the critical path by kind sums to the step', () => {
  const path = page.criticalPath(kSmall.boxes);
  assert.deepEqual([...path], [0, 2, 3, 4, 6, 1]);
  // 64 ticks: B 40, F 20, sends 2 each.
  assert.equal(page.pathWordsOf(kSmall.json, kSmall.boxes, path).replaceAll('\u00a0', ' '),
      '6 actions decide the length of the step: 62.5 % backward (B), 31.3 % forward (F), ' +
      '3.1 % send activation (SEND_F), 3.1 % send gradient (SEND_B).');
});

test('a span of time in words', () => {
  // From 12 to 44: rank 0 idle; rank 1 F 10, B 20, then the pair for 2.
  assert.equal(page.rangeWords(kSmall.json, kSmall.boxes, {t0: 12, t1: 44}).replaceAll('\u00a0', ' '),
      '32.00 us from 12.00 us on: 31.3 % backward (B), 15.6 % forward (F), ' +
      '3.1 % forward and backward as one (OVERLAP_F_B), 50.0 % idle; mean of the compute lanes.');
});

test('a payload is decoded to what was written', async () => {
  const {json, payload, boxes} = makeTimeline(3, 5);
  const decoded = await page.decodePayload({textContent: `\n${payload}\n`}, json);
  assert.equal(decoded.count, boxes.length);
  for (const box of boxes) {
    const i = box.index;
    assert.deepEqual(
        [decoded.start[i], decoded.duration[i], decoded.kind[i], decoded.row[i], decoded.stage[i], decoded.microBatch[i],
         decoded.waitedFor[i], decoded.flags[i], decoded.bytes[i]],
        [box.start, box.duration, box.kind, box.row, box.rank, box.microBatch, box.waitedFor?.index ?? kNone,
         box.onPath ? 1 : 0, box.lane === 'sends' ? 16777216 : 0]);
  }
});

test('a pair that ran as one is neither forward nor backward', async () => {
  const {json, payload} = makeTimeline(2, 2);
  const decoded = await page.decodePayload({textContent: payload}, {...json, overlaps: {3: '(0F1;0B0)OVERLAP_F_B'}});
  assert.deepEqual(decoded.kinds, [...json.kinds, 'OVERLAP_F_B']);
  assert.equal(decoded.kinds[decoded.kind[3]], 'OVERLAP_F_B');
  assert.equal(json.kinds[decoded.kind[2]], decoded.kinds[decoded.kind[2]]);
});

test('a payload that was cut or does not fit its data is refused', async () => {
  const {json, payload} = makeTimeline(2, 2);
  await assert.rejects(page.decodePayload({textContent: payload.slice(0, 40)}, json));
  await assert.rejects(page.decodePayload({textContent: payload}, {...json, boxes: json.boxes + 1}),
      /^Error: timeline-0: \d+ bytes instead of \d+: this file was cut short or changed/);
});
