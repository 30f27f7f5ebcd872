// A recording of GPUs that come and go, replayed under policies: what there was, what each policy ran,
// and what it kept. The page of `penstock morph`; it has no plan of its own.

const kHour = 3600;

function hoursText(seconds) {
  return `${(seconds / kHour).toFixed(2)}${kNoBreak}h`;
}

function stepsText(value) {
  return value === 0 || value >= 100 ? countText(value) : fourDigits(value);
}

/** Policies that ran, each with its starts; a bound has none. */
function ranPolicies({policies, starts}) {
  return policies.map((policy, index) => ({...policy, starts: starts[index]}))
      .filter((policy) => policy.starts.length > 0);
}

/** The plan on so many GPUs, in words; of other plans than the book's the number alone. */
function wordsOnGpus(morph, gpus, words) {
  if (gpus === 0) return 'nothing runs';
  const plan = words ?? morph.book.find((one) => one.gpus === gpus)?.words;
  return `${countOf(gpus, 'GPU')}${plan ? `: ${plan}` : ''}`;
}

function shareWords({policy, share_of_best: share}) {
  return `${policy} keeps ${percentText(share)}`;
}

function morphFinding(morph) {
  const ran = ranPolicies(morph).filter(({share_of_best: share}) => !isAbsent(share));
  if (ran.length === 0) return 'No policy keeps any step.';
  return capitalized(`${shareWords(ran[0])} of what ${morph.hindsight} keeps, which knows every loss beforehand; ` +
      `${ran.slice(1).map(({policy, share_of_best: share}) => `${policy} ${percentText(share)}`).join(', ')}.`);
}

function morphVerdictSection({model, morph}) {
  return make('section', {id: 'verdict', 'aria-labelledby': 'verdict-heading'},
      make('h1', {id: 'verdict-heading'}, model),
      make('p', {class: 'muted question'}, withUnits(morph.recording)),
      make('p', {class: 'verdict'}, withUnits(morphFinding(morph))),
      make('p', {class: 'muted'}, withUnits(morph.costs)));
}

/** The value of a curve of steps at every time at which any of the curves has one. */
function heldAt(times, changes, key) {
  let next = 0;
  let held = null;
  return times.map((time) => {
    while (next < changes.length && changes[next].at_s <= time) held = changes[next++][key];
    return held;
  });
}

function availabilityPlot(morph, policy, width, say) {
  const times = [...new Set([...morph.availability, ...policy.starts].map(({at_s: at}) => at).concat(morph.end_s))]
      .sort((a, b) => a - b);
  const there = heldAt(times, morph.availability, 'gpus');
  const used = heldAt(times, policy.starts, 'gpus_used');
  const plans = heldAt(times, policy.starts, 'plan');
  const stepped = uPlot.paths.stepped({align: 1});
  return {
    data: [times.map((time) => time / kHour), there, used],
    options: {
      height: 280,
      scales: {x: {time: false}, y: {range: (plot, least, greatest) => [0, greatest * 1.08 || 1]}},
      axes: [makeAxis('Hours', (value) => String(Number(value.toPrecision(6)))),
        makeAxis('GPUs', countText, {size: 50})],
      series: [{},
        {stroke: themeColour('--muted'), width: 1, fill: themeColour('--surface'), paths: stepped, points: {show: false}},
        {stroke: themeColour('--accent'), width: 2, paths: stepped, points: {show: false}}],
      cursor: {drag: {x: true, y: false}, points: {show: false}, y: false},
      hooks: {
        setCursor: [(plot) => {
          const index = plot.cursor.idx;
          say(isAbsent(index) ? null : `${hoursText(times[index])}: ${countOf(there[index], 'GPU')} there; ` +
              wordsOnGpus(morph, used[index] ?? 0, plans[index]));
        }],
      },
    },
  };
}

function startWords({lost_gpu: lost, gpus_used: used}, index) {
  if (index === 0) return 'the first start';
  if (used === 0) return lost ? 'a GPU in use was lost, and nothing fits' : 'nothing fits';
  return lost ? 'a GPU in use was lost' : 'a change that pays';
}

function startColumns(morph) {
  return [
    {key: 'at_s', title: 'At', numeric: true, text: hoursText, value: (row) => row.at_s},
    {key: 'gpus', title: 'GPUs there', numeric: true, text: countText, value: (row) => row.gpus},
    {key: 'gpus_used', title: 'used', numeric: true, text: countText, value: (row) => row.gpus_used},
    {key: 'why', title: 'Why', value: (row) => row.why},
    {key: 'plan', title: 'Plan', class: 'prose', value: (row) => wordsOnGpus(morph, row.gpus_used, row.plan)},
  ];
}

function startRows(morph, policy) {
  const gpus = heldAt(policy.starts.map(({at_s: at}) => at), morph.availability, 'gpus');
  return policy.starts.map((start, index) => ({...start, gpus: gpus[index], why: startWords(start, index)}));
}

/** What there was and what one of the policies ran, with a choice among them. */
function availabilitySection({morph}) {
  const policies = ranPolicies(morph);
  if (policies.length === 0) return null;
  const holder = make('div');
  const show = (index) => {
    const policy = policies[index];
    forgetChartsOf(holder);
    holder.replaceChildren(
        makeFigure({
          finding: `${capitalized(policy.policy)}: ${countOf(policy.changes, 'change')}, ` +
              `${durationWords(policy.restarting_ns)} of restarts, ${durationWords(policy.waiting_ns)} of waiting.`,
          legend: [{name: 'GPUs there', colour: '--muted', line: true},
            {name: 'GPUs used', colour: '--accent', line: true}],
          draw: (width, say) => availabilityPlot(morph, policy, width, say),
        }),
        makeNumbers('decisions', `What was started under ${policy.policy}`, startColumns(morph),
            () => startRows(morph, policy)));
    paintCharts();
  };
  show(0);
  return makeSection('availability', 'GPUs that come and go', null,
      make('p', {class: 'choices'}, makeSelect('Policy', policies.map(({policy}) => policy), 0, show)), holder);
}

/** Minutes and hours for what lasts long. */
function durationWords(ns) {
  if (ns === 0) return `0${kNoBreak}s`;
  if (ns >= 3600e9) return `${fourDigits(ns / 3600e9)}${kNoBreak}h`;
  return ns >= 60e9 ? `${fourDigits(ns / 60e9)}${kNoBreak}min` : durationText(ns);
}

function makeShareBar(share) {
  return make('span', {class: 'share-bar', 'aria-hidden': 'true'},
      make('span', {style: `width: ${Math.min(100, 100 * share)}%`}));
}

function goodputColumns(morph) {
  const price = ['cost_usd_per_mtok', 'cost_usd_per_msample'].find((key) =>
      morph.policies.some((policy) => !isAbsent(policy[key])));
  return [
    {key: 'policy', title: 'Policy', value: (row) => row.policy},
    {key: 'steps', title: 'Steps kept', numeric: true, text: stepsText, value: (row) => row.steps},
    {key: 'share_of_best', title: 'Of the best', numeric: true, text: percentText, value: (row) => row.share_of_best},
    {key: 'bar', title: 'Goodput', value: (row) => row.share_of_best, node: makeShareBar},
    {key: 'lost_steps', title: 'Lost', numeric: true, text: stepsText, value: (row) => row.lost_steps},
    {key: 'changes', title: 'Changes', numeric: true, text: countText, value: (row) => row.changes},
    {key: 'restarting_ns', title: 'Restarting', numeric: true, text: durationWords, value: (row) => row.restarting_ns},
    {key: 'waiting_ns', title: 'Waiting', numeric: true, text: durationWords, value: (row) => row.waiting_ns},
    price && {key: price, title: price.endsWith('mtok') ? '$/Mtok' : '$/Msample', numeric: true, text: dollarsText,
              value: (row) => row[price]},
  ].filter(Boolean);
}

function goodputSection({morph}) {
  const columns = goodputColumns(morph);
  return makeSection('goodput', 'What the policies keep',
      `Steps that stay in the result, as shares of what ${morph.hindsight} keeps; free changes are a bound.`,
      makeTable('Policies', columns, morph.policies, {sortable: true}),
      makeSaveButtons('policies', columns.filter(({key}) => key !== 'bar'), morph.policies));
}

const kMorphSections = [
  ['Answer', morphVerdictSection],
  ['Availability', availabilitySection],
  ['Goodput', goodputSection],
  ['Numbers', numbersSection],
];
