// What the page reads from a report is what `penstock trace` writes of the same plan: two ways out of the
// program, compared box by box.
// usage: node steps_test.mjs PENSTOCK
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {after} from 'node:test';
import {dataOf, kSource} from './reports.mjs';
import {importScripts} from './timeline_page.mjs';

const [program] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'penstock-steps-'));
after(() => rmSync(folder, {recursive: true, force: true}));
const page = await importScripts(kSource, ['payload.js', 'levels.js', 'format.js', 'timeline_words.js', 'timeline_facts.js'],
    ['decodePayload', 'boxName', 'criticalPath', 'findBoxes', 'kNoBox']);

function run(...options) {
  return execFileSync(program, options, {cwd: kSource, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'pipe']}).toString();
}

/** A plan under a schedule: its slices by rank and name, and its timeline as the page has it. */
async function stepOf(schedule) {
  const plan = join(folder, `${schedule}.json`);
  run('plan', 'data/profiles/gpt-6.7b.a100-40gb.json', '--cluster', 'data/clusters/a100-40gb-p4d-8x8.json', '--gpus', '16',
      '--global-batch', '64', '--sequence-length', '2048', '--schedule', schedule, '-o', plan);
  const trace = join(folder, 'trace.json');
  run('trace', plan, '-o', trace);
  const slices = JSON.parse(readFileSync(trace, 'utf8')).traceEvents.filter(({ph}) => ph === 'X');
  const html = run('report', plan, '-o', '-');
  const json = dataOf(html).timelines[0];
  const payload = new RegExp(`<script type="application/octet-stream" id="${json.id}">([^<]*)<`).exec(html)[1];
  return {slices, json, boxes: await page.decodePayload({textContent: payload}, json)};
}

function laneOf({cat, args}) {
  if (cat === 'compute') return 'compute';
  return args.to_rank === undefined ? 'collectives' : 'sends';
}

for (const schedule of ['1f1b', 'interleaved', 'zb-v', 'dualpipe-v', 'chimera']) {
  test(`${schedule}: every slice of the trace is a box of the page, at its time`, async () => {
    const {slices, json, boxes} = await stepOf(schedule);
    assert.equal(boxes.count, slices.length);
    const key = (rank, name, start) => `${rank} ${name} ${start}`;
    const found = new Map();
    for (let box = 0; box < boxes.count; ++box) {
      const row = json.rows[boxes.row[box]];
      assert.ok(box >= row.first && box < row.first + row.count, `box ${box} is not in its row`);
      found.set(key(row.rank, page.boxName(json, boxes, box), boxes.start[box]), box);
    }
    assert.equal(found.size, boxes.count);
    // A trace has thousandths of a microsecond, a timeline its ticks.
    const ns = (microseconds) => Math.round(microseconds * 1000);
    for (const slice of slices) {
      const {name, pid, ts, dur, args} = slice;
      const start = [-1, 0, 1].map((by) => Math.floor(ns(ts) / json.tick_ns) + by);
      const box = start.map((tick) => found.get(key(pid, name.slice(3), tick))).find((box) => box !== undefined);
      assert.ok(box !== undefined, `${name} of rank ${pid} at ${ts} us`);
      assert.ok(Math.abs(boxes.duration[box] * json.tick_ns - ns(dur)) <= 2 * json.tick_ns, name);
      assert.equal(boxes.bytes[box], args.bytes ?? 0, name);
      assert.equal(json.rows[boxes.row[box]].lane, laneOf(slice), name);
    }
  });

  test(`${schedule}: boxes of a row ascend, and none starts before what it waited for has ended`, async () => {
    const {json, boxes} = await stepOf(schedule);
    const endOf = (box) => boxes.start[box] + boxes.duration[box];
    for (const {first, count} of json.rows) {
      for (let box = first + 1; box < first + count; ++box) assert.ok(boxes.start[box] >= endOf(box - 1), `box ${box}`);
    }
    for (let box = 0; box < boxes.count; ++box) {
      const cause = boxes.waitedFor[box];
      if (cause === page.kNoBox) continue;
      assert.ok(cause < boxes.count);
      // Rounded to ticks, an end may be one later.
      assert.ok(endOf(cause) <= boxes.start[box] + 1, `${page.boxName(json, boxes, box)} starts before ${page.boxName(json, boxes, cause)} ends`);
    }
  });

  test(`${schedule}: the critical path is a chain from the start of the step to its end`, async () => {
    const {json, boxes} = await stepOf(schedule);
    const path = page.criticalPath(boxes);
    assert.ok(path.length > 1);
    const last = path[path.length - 1];
    assert.ok(Math.abs((boxes.start[last] + boxes.duration[last]) * json.tick_ns - json.length_ns) <= 2 * json.tick_ns);
    assert.equal(boxes.start[path[0]], 0);
    for (let i = 1; i < path.length; ++i) {
      assert.ok(boxes.start[path[i]] + 1 >= boxes.start[path[i - 1]] + boxes.duration[path[i - 1]],
          `${page.boxName(json, boxes, path[i])} overlaps the one before`);
    }
    assert.equal(page.findBoxes(json, boxes, 'critical').hits.length, path.length);
  });
}
