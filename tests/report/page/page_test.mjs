// The page of a plan, written by the program and opened in a browser.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';

import {kChecks} from './page_checks.mjs';
import {assertRows, open, rowsOf, runTests, unfold, untilTheme} from './page_tools.mjs';
import {comparePictures} from './pictures.mjs';
import {kHostile} from './reports.mjs';

const tests = [];
const test = (name, body) => tests.push({name, body});

for (const [name, check] of kChecks) test(name, ({context, plan}) => check(context, plan));

test('sections stand in reading order, and only those there is something to say in', async ({context, plan}) => {
  const {page} = await open(context, plan);
  const ids = await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id));
  assert.deepEqual(ids, ['verdict', 'timeline', 'plans', 'memory', 'time', 'assumptions', 'numbers']);
  await page.close();
});

test('tables hold the numbers of the data', async ({context, plan}) => {
  const {page} = await open(context, plan);
  const {data} = plan;
  const {ranks} = data.plans[0].prediction;
  await unfold(page);
  assertRows(await rowsOf(page, 'Parts of the step of the busiest rank'), data.parts.map((part) =>
    ({0: part.part, 1: part.time_ns, 2: part.share, 4: part.meaning})), 'parts');
  assertRows(await rowsOf(page, 'What-if'), data.changes.map((change) =>
    ({0: change.change, 1: change.step_time_ns, 2: change.gain})), 'what-if');
  assertRows(await rowsOf(page, 'Peak memory by rank'), ranks.map(({memory, capacity_bytes: capacity}, index) => ({
    0: index, 1: memory.parameters_bytes, 2: memory.gradients_bytes, 3: memory.optimizer_state_bytes,
    4: memory.working_peak_bytes, 5: memory.communication_bytes, 6: memory.reserve_bytes, 7: memory.stash_bytes,
    8: memory.total_bytes, 9: capacity, 10: capacity - memory.total_bytes,
  })), 'memory');
  assertRows(await rowsOf(page, 'Time by rank of plan 1'), ranks.map(({time}, index) => ({
    0: index, 1: time.busy_ns, 2: time.warm_up_ns, 3: time.drain_ns, 4: time.imbalance_ns, 5: time.order_ns,
    6: time.transfer_ns, 7: time.barrier_ns,
  })), 'time');
  assertRows(await rowsOf(page, "Assumptions, and the share of the busiest rank's compute time that each touches"),
      data.assumptions.map(({text, share}) => ({0: text, 1: share || null})), 'assumptions');
  const {cuts} = data.plans[0].plan;
  assertRows(await rowsOf(page, 'Stages of plan 1'), cuts.slice(1).map((end, stage) =>
    ({0: stage, 1: cuts[stage], 2: end - cuts[stage]})), 'stages');
  await page.close();
});

test('the verdict says what the data say', async ({context, plan}) => {
  const {page} = await open(context, plan);
  const {verdict, command, tool, inputs, plans} = plan.data;
  const text = (await page.evaluate(() => document.getElementById('verdict').textContent)).replaceAll('\u00a0', ' ');
  for (const part of [verdict.text, verdict.confidence]) assert.ok(text.includes(part), `"${part}" is in the verdict`);
  const footer = await page.evaluate(() => document.getElementById('colophon').textContent);
  for (const part of [command, tool, ...inputs.flatMap(({path, hash}) => [path, hash])]) {
    assert.ok(footer.includes(part), `"${part}" is in the footer`);
    assert.ok(part === tool || !text.includes(part), `"${part}" is not in the verdict`);
  }
  const figures = await page.evaluate(() =>
      [...document.querySelectorAll('.figures data')].map(({value}) => Number(value)));
  assert.equal(figures[0], plans[0].prediction.step_time_ns);
  assert.equal(figures.at(-1), plans[0].plan.devices);
  await page.close();
});

test('the first screen holds the answer, the timeline and the memory strip', async ({context, plan}) => {
  for (const [width, height] of [[1440, 900], [1024, 900], [390, 844]]) {
    const {page} = await open(context, plan);
    await page.setViewportSize({width, height});
    await page.reload();
    await page.evaluate(() => window.penstock.ready);
    const ends = await page.evaluate(() => ['.verdict', '.figures', '.timeline-view', '.timeline-memory'].map((name) =>
        document.querySelector(name).getBoundingClientRect().bottom));
    assert.ok(ends.every((end, i) => end <= height && (i === 0 || end > ends[i - 1])), `${width}: ${ends}`);
    await page.close();
  }
});

test('what was chosen stands in the address, and a reload shows it again', async ({context, plan}) => {
  const {page} = await open(context, plan);
  const file = page.url();
  await page.evaluate(() => {
    const [timeline] = window.penstock.timelines;
    timeline.find('2B3');
    timeline.zoomTo(1e8, 9e8);
  });
  await page.waitForFunction(() => location.hash.includes('from_ns'));
  const chosen = () => page.evaluate(() => {
    const [timeline] = window.penstock.timelines;
    const {start_ns, end_ns} = timeline.visibleRange();
    return [timeline.selected, Math.round(start_ns), Math.round(end_ns)];
  });
  const before = await chosen();
  assert.equal(page.url(), `${file}#from_ns=100000000&to_ns=900000000&box=2B3&rank=${await page.evaluate(() => {
    const [{json, boxes, selected}] = window.penstock.timelines;
    return json.rows[boxes.row[selected]].rank;
  })}`);
  // A link to a section keeps it.
  await page.click('#contents a[href="#memory"]');
  await page.waitForFunction(() => location.hash.includes('at=memory'));
  assert.match(page.url(), /box=2B3/);
  await page.reload();
  await page.evaluate(() => window.penstock.ready);
  assert.deepEqual(await chosen(), before);
  // Letting go of it takes it out again.
  await page.evaluate(() => {
    const [timeline] = window.penstock.timelines;
    timeline.select(0xffffffff);
    timeline.show(timeline.opening.t0, timeline.opening.t1);
  });
  await page.waitForFunction(() => location.hash === '#memory');
  // An address that names neither a span nor a box shows what the page opens with.
  await page.evaluate(() => {
    const [timeline] = window.penstock.timelines;
    timeline.find('2B3');
    timeline.zoomTo(1e8, 9e8);
  });
  await page.waitForFunction(() => location.hash.includes('from_ns'));
  await page.evaluate(() => { location.hash = '#at=memory'; });
  await page.waitForFunction(() => {
    const [{window: {t0}, opening, selected}] = window.penstock.timelines;
    return t0 === opening.t0 && selected === 0xffffffff;
  });
  await page.waitForTimeout(500);  // longer than the address waits before it is written
  assert.doesNotMatch(page.url(), /from_ns|box=/);
  await page.close();
});

test('an address of nonsense shows the page as it opens', async ({context, plan, reports}) => {
  const {page, errors} = await open(context, {...plan, file: reports.path('plan.html')});
  await page.goto(`${page.url()}#plan=99&box=<b>&rank=-1&from_ns=x&to_ns=&above=7&at=nowhere`);
  await page.reload();
  await page.evaluate(() => window.penstock.ready);
  assert.deepEqual(errors, []);
  assert.equal(await page.evaluate(() => window.penstock.timelines[0].selected), 0xffffffff);
  await page.close();
});

test('the strip below the timeline tells what the fullest rank holds at a time', async ({context, plan, reports}) => {
  for (const report of [plan, reports.withoutCurves(plan)]) {
    const {page, errors} = await open(context, report);
    const memory = await page.evaluate(() => window.penstock.timelines[0].strip.memory);
    const least = Math.min(...report.data.timelines[0].memory.map((one) => one.capacity_bytes - one.peak_bytes));
    assert.equal(memory.capacity_bytes - memory.peak_bytes, least);
    const at = await page.evaluate((ns) => {
      const [{strip, stripCanvas, json, ratio}] = window.penstock.timelines;
      stripCanvas.scrollIntoView({block: 'center'});
      const {left, top} = stripCanvas.getBoundingClientRect();
      return {x: left + strip.xOf(ns / json.tick_ns) / ratio, y: top + 40};
    }, memory.peak_at_ns);
    await page.mouse.move(at.x + 2, at.y);
    const text = (await page.locator('.timeline-tip').first().innerText()).replaceAll('\u00a0', ' ');
    const rank = report.data.timelines[0].rows.find((row) => row.rank === memory.rank).pipeline_rank;
    const peak = `${(memory.peak_bytes / 2 ** 30).toFixed(1)} GiB`;
    assert.ok(text.startsWith(`PP rank ${rank} holds ${peak} at `), text);
    assert.deepEqual(errors, []);
    await page.close();
  }
});

test('activations over time are what the payload holds, and its peak is the predicted one', async ({context, plan}) => {
  const {page} = await open(context, plan);
  await unfold(page);
  const predicted = plan.data.timelines[0];
  assert.ok(predicted.memory.length <= 4, 'few enough to be shown side by side');
  const {ranks} = plan.data.plans[0].prediction;
  for (const [rank, memory] of predicted.memory.entries()) {
    const rows = await rowsOf(page, `Activations of PP rank ${rank} over time`);
    const constant = Object.values(memory.constant_bytes).reduce((sum, bytes) => sum + bytes, 0);
    assert.equal(rows.length, memory.count);
    assert.equal(constant + Math.max(...rows.map(([, stash]) => stash)), memory.peak_bytes);
    assert.equal(memory.peak_bytes, ranks[rank].memory.total_bytes);
    assert.ok(rows.every(([time], index) => index === 0 || time >= rows[index - 1][0]), 'time ascends');
  }
  await page.close();
});

test('parts of the step sum to it', async ({context, plan}) => {
  const {page} = await open(context, plan);
  const widths = await page.evaluate(() => [...document.querySelectorAll('.parts-bar .segment')]
      .map(({style}) => parseFloat(style.width)));
  assert.ok(Math.abs(widths.reduce((sum, width) => sum + width, 0) - 100) < 0.01);
  await page.close();
});

test('the theme follows the system, then the button, and is not stored', async ({context, plan}) => {
  const {page} = await open(context, plan);
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

test('curves are drawn again in the colours of the theme', async ({context, plan}) => {
  const {page} = await open(context, plan);
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

test('what is saved is what is embedded', async ({context, plan}) => {
  const {page} = await open(context, plan);
  const save = async (selector) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
    return readFileSync(await download.path(), 'utf8');
  };
  assert.deepEqual(JSON.parse(await save('#save-data')), plan.data);
  const plans = JSON.parse(await save('[aria-label="Save plans as JSON"]'));
  assert.deepEqual(plans.map((row) => row.step_time_ns), plan.data.plans.map(({prediction}) => prediction.step_time_ns));
  const lines = (await save('[aria-label="Save plans as CSV"]')).trimEnd().split('\r\n');
  assert.equal(lines.length, plan.data.plans.length + 1);
  const actions = await save('.files li:nth-child(2) button');
  assert.equal(actions.trimEnd().split('\r\n').length, plan.data.timelines[0].boxes + 1);
  await page.close();
});

test('commands can be copied', async ({context, plan}) => {
  const {page} = await open(context, plan);
  const button = page.locator('[aria-label="Copy: the command of this report"]');
  await button.click();
  await page.waitForFunction(() => document.getElementById('announcer').textContent === 'Copied');
  assert.equal(await button.textContent(), 'Copied');
  await page.close();
});

test('the skip link leads to the report', async ({context, plan}) => {
  const {page} = await open(context, plan);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.close();
});

test('on paper there are no controls, and light colours', async ({context, plan}) => {
  const {page} = await open(context, plan);
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

test('without uPlot a sentence stands in for every curve, and all else works', async ({context, plan, reports}) => {
  const curves = await open(context, plan);
  const charts = await curves.page.locator('.chart').count();
  await curves.page.close();
  const {page, errors} = await open(context, reports.withoutCurves(plan));
  assert.deepEqual(errors, []);
  const sentences = await page.locator('.no-curves').allTextContents();
  assert.equal(sentences.length, charts);
  assert.ok(charts >= 3);
  for (const text of sentences) assert.equal(text, 'This build was made without uPlot: the numbers are in the tables.');
  await unfold(page);
  assert.equal((await rowsOf(page, 'Peak memory by rank')).length, plan.data.plans[0].prediction.ranks.length);
  await page.close();
});

test('a payload that was cut short is said, and the rest of the page stands', async ({context, plan, reports}) => {
  const cut = plan.html.replace(/(id="timeline-0">[^<]{200})[^<]*/, '$1');
  assert.notEqual(cut, plan.html);
  const {page, errors} = await open(context, reports.keep('cut.html', cut));
  assert.deepEqual(errors, []);
  assert.match(await page.locator('#timeline .problem').textContent(), /^This timeline cannot be shown: ./);
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('main > section')].map(({id}) => id)),
      ['verdict', 'timeline', 'plans', 'memory', 'time', 'assumptions', 'numbers']);
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

test('the page looks as it did', async ({context, plan, update}) => {
  await comparePictures(context, plan, update);
});

await runTests(tests, (reports) => ({plan: reports.plan()}));
