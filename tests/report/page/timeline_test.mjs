// The timeline in a browser: its pixels, its mouse, its keys and its times.
//   node timeline_test.mjs NPM_FOLDER
import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import test, {after} from 'node:test';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {openBrowser, openPage} from './browser.mjs';
import {kKinds, makeTimeline} from './timeline_fixture.mjs';
import {pageOf} from './timeline_page.mjs';

const kSource = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const kAxis = 24;
const folder = mkdtempSync(join(tmpdir(), 'penstock-timeline-'));
const npm = process.argv[2] ?? '.';
const browser = await openBrowser(npm, {reducedMotion: 'reduce'});
after(async () => {
  await browser.close();
  rmSync(folder, {recursive: true, force: true});
});

function writePage(name, timeline) {
  const file = join(folder, `${name}.html`);
  writeFileSync(file, pageOf(kSource, timeline));
  return file;
}

/** A page with this timeline; `use(page, timeline)` runs on it, and it must have been silent and alone. */
async function withPage(timeline, use, context = browser.context) {
  const {page, requests, errors} = await openPage(context, writePage('page', timeline));
  await page.waitForFunction(() => window.test);
  await use(page, timeline);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests.filter((url) => !url.startsWith('blob:')), [page.url()]);
  await page.close();
}

const small = makeTimeline(4, 12);
const large = makeTimeline(8, 1600);

const rangeOf = (page) => page.evaluate(() => test.timeline.visibleRange());
const selectedOf = (page) => page.evaluate(() => test.timeline.selected);
const said = (page) => page.evaluate(() => document.getElementById('announcer').textContent.replaceAll('\u00a0', ' '));
const textOf = async (page, selector) => (await page.locator(selector).innerText()).replaceAll('\u00a0', ' ');
const spanOf = ({start_ns, end_ns}) => end_ns - start_ns;

function near(actual, expected, tolerance = 1e-9) {
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
}

/** Where a time is on the page. */
async function placeOf(page, tick, lane) {
  return page.evaluate(([tick, lane]) => {
    const {left, top} = test.timeline.canvas.getBoundingClientRect();
    const {painter, ratio, lanes} = test.timeline;
    const y = lane < 0 ? 12 : 24 + lanes[lane].top + lanes[lane].height / 2;
    return {x: left + painter.xOf(tick) / ratio, y: top + y};
  }, [tick, lane]);
}

/** What a lane's pixels should be, from the boxes one by one. */
function expectedColumns(boxes, row, {t0, t1}, columns, colours) {
  const inRow = boxes.filter((box) => box.row === row && box.start < t1 && box.start + box.duration > t0);
  const sums = Array.from({length: columns}, () => [0, 0, 0, 0]);  // busy, red, green, blue
  const scale = columns / (t1 - t0);
  for (const {start, duration, kind} of inRow) {
    const from = (start - t0) * scale;
    const to = (start + duration - t0) * scale;
    for (let column = Math.max(0, Math.floor(from)); column < Math.min(columns, Math.ceil(to)); ++column) {
      const part = Math.min(to, column + 1) - Math.max(from, column);
      const {red, green, blue} = colours.kinds[kind];
      [part, part * red, part * green, part * blue].forEach((value, i) => sums[column][i] += value);
    }
  }
  const {red, green, blue} = colours.lane;
  return sums.map(([busy, ...rest]) => rest.map((sum, i) => sum + (1 - busy) * [red, green, blue][i]));
}

async function checkColumns(page, boxes, rows) {
  for (const row of rows) {
    const {pixels, window, columns, colours} = await page.evaluate((row) => {
      const {timeline} = window.test;
      timeline.paint();
      const lane = timeline.lanes.find(({index}) => index === row);
      const {painter, canvas} = timeline;
      const image = canvas.getContext('2d').getImageData(
          painter.left, painter.yOf(lane.top) + 1, painter.columns, 1).data;
      return {pixels: [...image], window: timeline.window, columns: painter.columns, colours: timeline.colours};
    }, row);
    const expected = expectedColumns(boxes, row, window, columns, colours);
    expected.forEach((colour, column) => colour.forEach((value, i) => {
      assert.ok(Math.abs(pixels[4 * column + i] - value) <= 1, `row ${row}, column ${column}: ` +
          `${pixels.slice(4 * column, 4 * column + 3)} is not ${colour}`);
    }));
  }
}

test('the colour of a column is its busy share, at any zoom', () => withPage(large, async (page, {json, boxes}) => {
  const rows = [0, 1, 6, 7, 15];
  const length = json.length_ns;
  await page.evaluate((length) => test.timeline.zoomTo(0, length), length);
  await checkColumns(page, boxes, rows);
  for (const [from, to] of [[0, 0.2], [0.31, 0.72], [0.9, 1]]) {
    await page.evaluate(([from, to]) => test.timeline.zoomTo(from, to), [from * length, to * length]);
    await checkColumns(page, boxes, rows);
  }
}));

test('a box in sight fills its whole columns, and shows its name', () => withPage(small, async (page, {boxes}) => {
  const box = boxes.find(({rank, kind, microBatch}) => rank === 2 && kind === 1 && microBatch === 3);
  const found = await page.evaluate((box) => {
    const {timeline} = test;
    const {x, y, width, height} = timeline.boxRect(box);
    const data = timeline.canvas.getContext('2d').getImageData(Math.ceil(x) + 1, y + 1, Math.floor(width) - 3, height - 2).data;
    const {red, green, blue} = timeline.colours.kinds[timeline.boxes.kind[box]];
    let own = 0;
    let dark = 0;
    for (let i = 0; i < data.length; i += 4) {
      own += data[i] === red && data[i + 1] === green && data[i + 2] === blue;
      dark += data[i] + data[i + 1] + data[i + 2] < 120;
    }
    return {own: own / (data.length / 4), dark};
  }, box.index);
  assert.ok(found.own > 0.75, `own colour: ${found.own}`);
  assert.ok(found.dark > 20, `pixels of the name: ${found.dark}`);
}));

test('the hit test finds what a search through all boxes finds', () => withPage(large, async (page, {json, boxes}) => {
  let seed = 5;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  let met = 0;
  for (const share of [1, 0.1, 0.004, 0.0005]) {
    const from = random() * (1 - share) * json.length_ns;
    await page.evaluate(([from, to]) => test.timeline.zoomTo(from, to), [from, from + share * json.length_ns]);
    const points = Array.from({length: 60}, () => [110 + random() * 1050, random() * 350]);
    const hits = await page.evaluate((points) => points.map(([x, y]) => ({
      box: test.timeline.hitTest(x, y), tick: test.timeline.tickAt(x), row: test.timeline.laneAt(y)?.index ?? -1,
      left: test.timeline.painter.left / test.timeline.ratio,
    })), points);
    hits.forEach(({box, tick, row, left}, i) => {
      const expected = points[i][0] < left ? -1 :
          boxes.find((b) => b.row === row && tick >= b.start && tick < b.start + b.duration)?.index ?? -1;
      assert.equal(box, expected);
      met += box >= 0;
    });
  }
  assert.ok(met > 60, `only ${met} points met a box`);
}));

test('W and S zoom by 1.5 about the middle, A and D move by a fifth', () => withPage(small, async (page, {json}) => {
  await page.locator('.timeline-view').focus();
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  let range = await rangeOf(page);
  near(spanOf(range), json.length_ns / 2.25);
  near(range.start_ns + range.end_ns, json.length_ns);
  await page.keyboard.press('d');
  let moved = await rangeOf(page);
  near(moved.start_ns - range.start_ns, spanOf(range) / 5);
  await page.keyboard.press('a');
  near((await rangeOf(page)).start_ns, range.start_ns);
  await page.keyboard.press('s');
  near(spanOf(await rangeOf(page)), json.length_ns / 1.5);
  await page.keyboard.press('End');
  near((await rangeOf(page)).end_ns, json.length_ns);
  await page.keyboard.press('Home');
  assert.equal((await rangeOf(page)).start_ns, 0);
  await page.keyboard.press('f');
  assert.deepEqual(await rangeOf(page), {start_ns: 0, end_ns: json.length_ns});
  // The buttons do the same.
  await page.getByRole('button', {name: 'Zoom in'}).click();
  near(spanOf(await rangeOf(page)), json.length_ns / 1.5);
  await page.getByRole('button', {name: 'Whole step'}).click();
  near(spanOf(await rangeOf(page)), json.length_ns);
}));

test('the wheel keeps the time under the cursor, and stops at the step and at 20 ticks', () => withPage(small, async (page, {json}) => {
  const place = await placeOf(page, 20000, 2);
  const at = {x: Math.floor(place.x), y: place.y};  // wheel events come at whole pixels
  await page.mouse.move(at.x, at.y);
  const under = () => page.evaluate(({x}) => test.timeline.tickAt(x - test.timeline.canvas.getBoundingClientRect().left), at);
  const before = await under();
  let span = json.length_ns;
  for (let i = 0; i < 3; ++i) {
    await page.mouse.wheel(0, -240);
    await page.waitForFunction((span) => {
      const {start_ns, end_ns} = test.timeline.visibleRange();
      return end_ns - start_ns < span * 0.99;
    }, span);
    span = spanOf(await rangeOf(page));
    near(await under(), before);
  }
  await page.evaluate(() => test.timeline.zoomAt(20000, 1e-9));
  near(spanOf(await rangeOf(page)), 20 * json.tick_ns);
  await page.evaluate(() => test.timeline.zoomAt(20000, 1e9));
  assert.deepEqual(await rangeOf(page), {start_ns: 0, end_ns: json.length_ns});
}));

test('dragging moves, and does not select', () => withPage(small, async (page, {json}) => {
  await page.evaluate((length) => test.timeline.zoomTo(length / 4, length / 2), json.length_ns);
  const before = await rangeOf(page);
  const at = await placeOf(page, json.length_ns * 0.4 / json.tick_ns, 2);
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x + 50, at.y, {steps: 4});
  await page.mouse.up();
  const columns = await page.evaluate(() => test.timeline.painter.columns);
  near((await rangeOf(page)).start_ns, before.start_ns - 50 * spanOf(before) / columns, 1e-6);
  assert.equal(await selectedOf(page), 0xffffffff);
}));

test('a drag on the axis selects a span, Z zooms to it, Escape lets go', () => withPage(small, async (page, {json}) => {
  const [from, to] = [await placeOf(page, 10000, -1), await placeOf(page, 20000, -1)];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y + 60, {steps: 4});
  await page.mouse.up();
  const range = await page.evaluate(() => test.timeline.range);
  const pixel = json.length_ns / json.tick_ns / 1000;
  near(range.t0, 10000, pixel);
  near(range.t1, 20000, pixel);
  assert.match(await textOf(page, '.timeline-range'), /^10\.\d\d ms from (9\.9|10\.0)\d+ ms on: .* % backward \(B\), .* % idle; mean/);
  await page.keyboard.press('z');
  const shown = await rangeOf(page);
  near(shown.start_ns, range.t0 * json.tick_ns);
  near(shown.end_ns, range.t1 * json.tick_ns);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => test.timeline.range), null);
}));

test('a search goes to names, counts, goes round, and says when there is nothing', () => withPage(small, async (page, {boxes}) => {
  await page.locator('.timeline-view').focus();
  await page.keyboard.press('/');
  await page.keyboard.type('2b3');
  await page.keyboard.press('Enter');
  const box = boxes.find(({rank, kind, microBatch}) => rank === 2 && kKinds[kind] === 'B' && microBatch === 3);
  assert.equal(await selectedOf(page), box.index);
  assert.equal(await textOf(page, '.timeline-count'), '1 of 1 hit');
  assert.match(await said(page), /^2B3, rank 2 ×16, backward, 2\.005 ms, waited for 3SEND_B3/);

  const find = page.getByRole('searchbox', {name: 'Find'});
  await find.fill('stage 3 send_b');
  await find.press('Enter');
  const hits = boxes.filter(({rank, kind}) => rank === 3 && kKinds[kind] === 'SEND_B').sort((a, b) => a.start - b.start);
  assert.equal(hits.length, 12);
  assert.equal(await textOf(page, '.timeline-count'), '1 of 12 hits');
  assert.equal(await selectedOf(page), hits[0].index);
  await find.press('Enter');
  assert.equal(await selectedOf(page), hits[1].index);
  await page.getByRole('button', {name: 'Previous hit'}).click();
  await page.getByRole('button', {name: 'Previous hit'}).click();
  assert.equal(await selectedOf(page), hits[11].index);
  assert.equal(await textOf(page, '.timeline-count'), '12 of 12 hits');
  // In sight, and wide enough to be seen.
  const {x, width} = await page.evaluate(() => test.timeline.boxRect(test.timeline.selected));
  assert.ok(x > 100 && width > 3, `${x} ${width}`);

  await find.fill('9F1');
  await find.press('Enter');
  assert.equal(await textOf(page, '.timeline-count'), 'Nothing is called “9F1” in this timeline.');
  await find.fill('hello');
  await page.waitForFunction(() => document.querySelector('.timeline-count').textContent.includes('hello'));
  assert.equal(await find.getAttribute('aria-invalid'), 'true');
  assert.equal(await page.evaluate(() => test.timeline.find('mb 7')), boxes.filter(({microBatch}) => microBatch === 7).length);
}));

test('the critical path is drawn, and said in shares that sum to the step', () => withPage(small, async (page, {json, boxes}) => {
  const painted = () => page.evaluate(() => {
    const {timeline} = test;
    timeline.paint();
    const {red, green, blue} = timeline.colours.path;
    const {width, height} = timeline.canvas;
    const data = timeline.canvas.getContext('2d').getImageData(0, 0, width, height).data;
    let count = 0;
    for (let i = 0; i < data.length; i += 4) count += data[i] === red && data[i + 1] === green && data[i + 2] === blue;
    return count;
  });
  assert.equal(await painted(), 0);
  const button = page.getByRole('button', {name: 'Critical path'});
  await page.locator('.timeline-view').focus();
  await page.keyboard.press('c');
  assert.equal(await button.getAttribute('aria-pressed'), 'true');
  assert.ok(await painted() > 2000);
  await button.click();
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
  assert.equal(await painted(), 0);

  const length = json.length_ns / json.tick_ns;
  const path = boxes.filter(({onPath}) => onPath);
  const words = await textOf(page, '.timeline-path');
  assert.ok(words.startsWith(`Critical path: ${path.length} actions decide the length of the step: `), words);
  kKinds.forEach((name, kind) => {
    const share = path.filter((box) => box.kind === kind).reduce((sum, {duration}) => sum + duration, 0) / length;
    assert.ok(words.includes(`${(100 * share).toFixed(1)} % `) && words.includes(`(${name})`), `${name} ${share}: ${words}`);
  });
  // In this fixture each box starts when the one it waited for ends: nothing is left over.
  assert.ok(!words.includes('waiting'), words);
}));

test('arrows step through the boxes, Enter reads them', () => withPage(small, async (page, {boxes}) => {
  await page.locator('.timeline-view').focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await selectedOf(page), 0);
  await page.keyboard.press('ArrowRight');
  assert.equal(await selectedOf(page), 1);
  assert.match(await said(page), /^0F1, rank 0 ×16, forward, 1\.007 ms, waited for 0F0, which ran right before it$/);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await selectedOf(page), 0);
  await page.keyboard.press('ArrowDown');
  assert.equal(boxes[await selectedOf(page)].row, 1);
  await page.keyboard.press('ArrowDown');
  assert.equal(boxes[await selectedOf(page)].row, 2);
  await page.keyboard.press('ArrowUp');
  // The middle of 1F0 is nearer to 0SEND_F1 than to 0SEND_F0, which brought what it needs.
  await page.keyboard.press('Enter');
  assert.match(await said(page), /^0SEND_F1, rank 0 ×16, sends, send activation, 157\.0 us, stage 0, micro-batch 1, starts at 2\.007 ms, 16\.0 MiB, waited for 0F1, its lane was idle for 857\.0 us before/);
  // With Shift they select the span of both.
  await page.keyboard.press('Shift+ArrowRight');
  const [, first, second] = boxes.filter(({row}) => row === 1);
  assert.deepEqual(await page.evaluate(() => test.timeline.range), {t0: first.start, t1: second.start + second.duration});
}));

test('a click selects, and what a box waited for is a link that leads there', () => withPage(small, async (page, {boxes}) => {
  const box = boxes.find(({rank, kind, microBatch}) => rank === 1 && kind === 1 && microBatch === 5);
  const at = await placeOf(page, box.start + box.duration / 2, 2);
  await page.mouse.move(at.x, at.y);
  // To point at it says what a click says.
  const pointed = await textOf(page, '.timeline-tip');
  assert.match(pointed, /^1B5 backward\s+Rank\s+rank 1, and 15 DP ranks that do the same\s+Stage\s+1\s+Micro-batch\s+5\s/);
  await page.mouse.click(at.x, at.y);
  assert.equal(await selectedOf(page), box.index);
  const words = (text) => text.replace(/\s+/g, ' ').trim();
  assert.equal(words(await textOf(page, '.timeline-panel')), words(pointed));
  await page.mouse.move(at.x, 5);
  assert.equal(await page.locator('.timeline-tip').isVisible(), false);
  await page.getByRole('button', {name: '2SEND_B5 (rank 2 ×16, sends)'}).click();
  assert.equal(await selectedOf(page), box.waitedFor.index);
  assert.match(await textOf(page, '.timeline-panel'), /2SEND_B5 send gradient[^]*Bytes\s+16\.0 MiB, [\d.]+ GB\/s/);
  await page.getByRole('button', {name: '1B5 (rank 1 ×16)'}).click();  // what it let start
  assert.equal(await selectedOf(page), box.index);
}));

test('lanes of transfers can be hidden, and come back for what is searched', () => withPage(small, async (page) => {
  const height = () => page.locator('.timeline-view').evaluate((view) => view.clientHeight);
  const all = await height();
  const button = page.getByRole('button', {name: 'Transfers'});
  await button.click();
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
  assert.equal(await height(), all - 4 * 11);
  await page.evaluate(() => test.timeline.find('0SEND_F2'));
  assert.equal(await height(), all);
}));

test('many ranks scroll, and the selected one comes into sight', () => withPage(makeTimeline(64, 4), async (page) => {
  const view = page.locator('.timeline-view');
  const {high, all} = await view.evaluate((view) => ({high: view.clientHeight, all: view.scrollHeight}));
  assert.ok(all > high + 100, `${all} ${high}`);
  await page.evaluate(() => test.timeline.find('63B2'));
  const {y, height} = await page.evaluate(() => test.timeline.boxRect(test.timeline.selected));
  assert.ok(y >= kAxis && y + height <= high, `${y} ${high}`);
}));

test('a long step opens on its warm-up; F shows all of it, O the warm-up again', () => withPage(large, async (page, {json, boxes}) => {
  const opened = await rangeOf(page);
  // 8 ranks: rank 0 runs 7 forwards ahead, then F7 and B0 by turns.
  const last = boxes.find(({rank, kind, microBatch}) => rank === 0 && kKinds[kind] === 'F' && microBatch === 8);
  near(opened.end_ns, 1.02 * (last.start + last.duration) * json.tick_ns);
  assert.equal(opened.start_ns, 0);
  await page.locator('.timeline-view').focus();
  await page.keyboard.press('f');
  near(spanOf(await rangeOf(page)), json.length_ns);
  await page.keyboard.press('o');
  assert.deepEqual(await rangeOf(page), opened);
}));

test('a theme changes the colours, a width the columns', () => withPage(small, async (page) => {
  const ground = () => page.evaluate(() => [...test.timeline.canvas.getContext('2d').getImageData(2, 2, 1, 1).data]);
  const painted = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.deepEqual(await ground(), [255, 255, 255, 255]);
  await page.evaluate(() => document.documentElement.dataset.theme = 'dark');
  await painted();
  const [red] = await ground();
  assert.ok(red < 60, `ground ${red}`);
  await page.setViewportSize({width: 700, height: 900});
  await page.waitForFunction(() => test.timeline.canvas.width === test.timeline.view.clientWidth);
  const {wide, map} = await page.evaluate(() => ({wide: test.timeline.canvas.width, map: test.timeline.mapCanvas.width}));
  assert.equal(map, wide);
  assert.ok(wide < 700);
  await page.setViewportSize({width: 1280, height: 900});
}));

test('a click on the map moves the window there', () => withPage(small, async (page, {json}) => {
  await page.evaluate((length) => test.timeline.zoomTo(0, length / 10), json.length_ns);
  const box = await page.locator('.timeline-map').boundingBox();
  const {left, columns} = await page.evaluate(() => test.timeline.painter);
  await page.mouse.click(box.x + left + columns * 0.75, box.y + 10);
  const {start_ns, end_ns} = await rangeOf(page);
  near((start_ns + end_ns) / 2, json.length_ns * 0.75, 2e-3);
}));

test('the picture is a PNG of all lanes, saved without a network', () => withPage(makeTimeline(64, 4), async (page) => {
  const waiting = page.waitForEvent('download');
  await page.getByRole('button', {name: 'Save PNG'}).click();
  const download = await waiting;
  assert.equal(download.suggestedFilename(), 'timeline-0.png');
  const png = readFileSync(await download.path());
  assert.equal(png.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n');
  const size = await page.evaluate(() => [test.timeline.canvas.width, test.timeline.contentHeight]);
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], size);
}));

test('it is one stop for the keyboard, with a name and a description', () => withPage(small, async (page) => {
  const view = page.getByRole('application', {name: /^Plan 1, predicted: 172 actions of 4 ranks in 49\.\d\d ms$/});
  assert.equal(await view.count(), 1);
  const help = await view.evaluate((view) => document.getElementById(view.getAttribute('aria-describedby')).textContent);
  assert.match(help, /W and S zoom/);
  await page.getByRole('button', {name: 'Save PNG'}).focus();
  await page.keyboard.press('Tab');
  assert.ok(await view.evaluate((view) => view === document.activeElement));
  await page.keyboard.press('Tab');
  assert.ok(await view.evaluate((view) => !view.contains(document.activeElement)));
}));

test('with motion the window glides to where it is sent; on a fine screen there are more columns', async () => {
  const other = await openBrowser(npm, {deviceScaleFactor: 2});
  try {
    await withPage(small, async (page, {json}) => {
      const {canvas, css} = await page.evaluate(() => ({canvas: test.timeline.canvas.width, css: test.timeline.view.clientWidth}));
      assert.equal(canvas, 2 * css);
      await page.evaluate((length) => test.timeline.zoomTo(0, length / 10), json.length_ns);
      await page.evaluate(() => test.timeline.fit());
      assert.ok(spanOf(await rangeOf(page)) < json.length_ns);
      await page.waitForFunction(() => test.timeline.visibleRange().end_ns === test.json.length_ns);
    }, other.context);
  } finally {
    await other.close();
  }
});

test('two that are linked show the same span, up to the end of the longer one', () => withPage(small, async (page, {json}) => {
  const length = json.length_ns;
  const ranges = await page.evaluate((length) => {
    const {timeline, boxes, json} = test;
    const container = document.body.appendChild(document.createElement('div'));
    // Measured in other ticks, and longer.
    const other = new Timeline(container, {...json, tick_ns: 2 * json.tick_ns, length_ns: 2 * json.length_ns}, boxes);
    const ranges = () => [timeline, other].map((one) => one.visibleRange());
    timeline.link(other);
    const whole = ranges();
    other.zoomTo(length / 2, length * 1.5);
    const zoomed = ranges();
    timeline.paint();
    const ended = timeline.canvas.getContext('2d').getImageData(
        timeline.canvas.width - 5, timeline.painter.yOf(timeline.lanes[0].top) + 3, 1, 1).data;
    timeline.link(null);
    return {whole, zoomed, ended: [...ended], alone: ranges()};
  }, length);
  const same = (start_ns, end_ns) => [{start_ns, end_ns}, {start_ns, end_ns}];
  assert.deepEqual(ranges.whole, same(0, 2 * length));
  assert.deepEqual(ranges.zoomed, same(length / 2, length * 1.5));
  assert.deepEqual(ranges.ended, [255, 255, 255, 255]);  // no lane where the shorter step has ended
  assert.deepEqual(ranges.alone, [{start_ns: 0, end_ns: length}, {start_ns: length / 2, end_ns: length * 1.5}]);
}));

test('a step without boxes is an empty timeline', () => {
  const json = {...small.json, boxes: 0, rows: []};
  return withPage({json, payload: gzipSync(Buffer.alloc(0)).toString('base64'), boxes: []}, async (page) => {
    assert.equal(await page.evaluate(() => test.timeline.hitTest(300, 40)), -1);
    assert.equal(await textOf(page, '.timeline-path'), 'The critical path of this step is not known.');
    await page.locator('.timeline-view').focus();
    for (const key of ['ArrowRight', 'ArrowDown', 'c', 'w', 'z', 'n', 'Enter']) await page.keyboard.press(key);
    assert.equal(await said(page), 'No box is selected.');
  });
});

/** The best of some pages: other work on the machine must not fail the test. */
async function paintTimes(name, timeline, tries) {
  let best = null;
  for (let i = 0; i < tries; ++i) {
    await withPage(timeline, async (page) => {
      const times = await page.evaluate(() => {
        const {timeline, decodeMs, firstPaintMs} = test;
        const frames = [];
        timeline.show(0, timeline.length);
        for (let i = 0; i < 8; ++i) {
          timeline.zoomAt(0.4 * timeline.length, i % 2 ? 0.5 : 1.2);
          timeline.paint();
          const began = performance.now();
          timeline.canvas.getContext('2d').getImageData(0, 0, 1, 1);
          frames.push(timeline.paintMs + performance.now() - began);
        }
        return {decodeMs, firstPaintMs, frameMs: frames.sort((a, b) => a - b)[4]};
      });
      if (!best || times.firstPaintMs < best.firstPaintMs) best = times;
    });
  }
  const ms = (value) => `${value.toFixed(1)} ms`;
  console.log(`${name}: ${timeline.boxes.length} boxes, decoded in ${ms(best.decodeMs)}, first painted in ` +
      `${ms(best.firstPaintMs)}, a frame of zooming in ${ms(best.frameMs)}`);
  return best;
}

test('50,000 boxes are painted within 150 ms', async () => {
  const {firstPaintMs, frameMs} = await paintTimes('50k', makeTimeline(8, 1670), 5);
  assert.ok(firstPaintMs < 150, `${firstPaintMs} ms`);
  assert.ok(frameMs < 100, `${frameMs} ms a frame`);
});

test('1,000,000 boxes can be worked with', async () => {
  const {firstPaintMs, frameMs} = await paintTimes('1M', makeTimeline(32, 8000), 3);
  assert.ok(firstPaintMs < 1000, `${firstPaintMs} ms`);
  assert.ok(frameMs < 200, `${frameMs} ms a frame`);
});
