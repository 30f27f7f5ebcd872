// (9) Two plans side by side: what was decided otherwise, and what that changes.

const kDecisionNames = {
  schedule: 'schedule', group: 'interleaving group', pipeline: 'PP', chunks: 'VP', stage_map: 'stages on ranks',
  data: 'DP', tensor: 'TP', context: 'CP', expert: 'EP', micro_batch_size: 'micro-batch size (mbs)', micro_batches: 'micro-batches (M)',
  global_batch: 'global batch (gbs)', sequence_length: 'sequence length', recompute: 'recompute',
  recompute_sections: 'sections recomputed, by stage', zero1: 'ZeRO-1', placement: 'placement',
  device: 'device', devices: 'GPUs', cuts: 'first section of each stage',
};

// Values that are names of the plan file.
const kDecisionWords = {
  placement: {pipeline_inner: 'PP ranks next to each other', data_inner: 'DP ranks next to each other'},
  group: {0: 'the schedule\'s own'},
};

function decisionText(value) {
  if (isAbsent(value)) return '\u2013';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.map(decisionText).join(' ');
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}

/** Decisions of both plans: {key, name, left, right}, in the order of the plan file. */
function decisionsOf(left, right) {
  const keys = [...new Set([...Object.keys(left.plan), ...Object.keys(right.plan)])];
  const text = (value, key) => kDecisionWords[key]?.[value] ?? decisionText(value);
  return keys.map((key) => ({key, name: kDecisionNames[key] ?? key.replaceAll('_', ' '),
                             left: text(left.plan[key], key), right: text(right.plan[key], key)}));
}

function memoryMeasures(left, right) {
  const [a, b] = [left, right].map(({prediction}) => prediction.ranks?.[tightestRank(prediction)]);
  if (!a || !b) return [];
  return [...kMemoryParts.map((part) => ({name: part.name, key: part.total})),
    {name: 'total', key: 'total_bytes'}].map(({name, key}) =>
    ({group: 'Memory of the fullest rank', name, text: bytesText, left: a.memory[key], right: b.memory[key]}));
}

function timeMeasures(left, right) {
  const [a, b] = [left, right].map(({prediction}) => prediction.ranks?.[busiestRank(prediction)]);
  if (!a || !b) return [];
  return kTimeParts.map(({name, key}) =>
    ({group: 'Time of the busiest rank', name, text: durationText, left: a.time[key], right: b.time[key]}));
}

/** Measures of both plans: {group, name, text, left, right}. */
function measuresOf(left, right) {
  const of = (name, text, value) =>
      ({group: 'Outcome', name, text, left: value(left.prediction), right: value(right.prediction)});
  return [
    of('step', durationText, (prediction) => prediction.step_time_ns),
    of('samples/s', throughputText, (prediction) => prediction.samples_per_s),
    of('tokens/s', throughputText, (prediction) => prediction.tokens_per_s),
    of('bubble', percentText, (prediction) => prediction.bubble_rate_makespan),
    of('peak memory', bytesText, (prediction) => prediction.peak_memory_bytes),
    of('$ per step', dollarsText, (prediction) => prediction.cost_usd_per_step),
    of('$ per million tokens', dollarsText, (prediction) => prediction.cost_usd_per_mtok),
    ...memoryMeasures(left, right), ...timeMeasures(left, right),
  ].filter((measure) => !isAbsent(measure.left) && !isAbsent(measure.right));
}

/** Over a column there is no room for what differs: what was chosen stands above the tables. */
function columnHeading(entry, side) {
  return entry.role === 'pareto' ? `${side} plan` : planHeading(entry);
}

function makeDecisions(left, right) {
  const decisions = decisionsOf(left, right);
  const other = decisions.filter((decision) => decision.left !== decision.right);
  const same = decisions.filter((decision) => decision.left === decision.right);
  const columns = [
    {key: 'decision', title: 'Decision', value: (row) => row.name},
    {key: 'left', title: columnHeading(left, 'First'), class: 'wraps', value: (row) => row.left},
    {key: 'right', title: columnHeading(right, 'Second'), class: 'wraps', value: (row) => row.right},
  ];
  return [
    other.length > 0
        ? makeTable('Decisions that differ', columns, other, {visibleCaption: true})
        : make('p', {}, 'Both plans make the same decisions.'),
    same.length > 0 ? make('p', {class: 'muted'}, 'The same in both: ',
        same.map(({name, left: value}) => `${name} ${value}`).join(', '), '.') : null,
  ];
}

function makeMeasures(left, right) {
  const number = (key, title, value) => ({
    key, title, numeric: true, value, node: (raw, row) => makeNumber(raw, row.text(raw)),
  });
  const columns = [
    {key: 'measure', title: 'Measure', value: (row) => row.name},
    number('left', columnHeading(left, 'First'), (row) => row.left),
    number('right', columnHeading(right, 'Second'), (row) => row.right),
    {key: 'difference', title: 'Difference', numeric: true, value: (row) => row.right - row.left,
     node: (raw, row) => makeNumber(raw, signedText(raw, row.text))},
    {key: 'relative', title: 'in %', numeric: true, value: (row) => row.right - row.left,
     node: (raw, row) => relativeText(row.left, row.right)},
  ];
  const measures = measuresOf(left, right);
  const groups = [...new Set(measures.map(({group}) => group))];
  return [groups.map((group) => makeTable(group, columns, measures.filter((row) => row.group === group),
      {visibleCaption: true})),
  makeSaveButtons('comparison', [{key: 'group', value: (row) => row.group}, ...columns.slice(0, 4)], measures)];
}

function comparisonFinding(left, right) {
  const [a, b] = [left.prediction, right.prediction];
  const slower = b.step_time_ns / a.step_time_ns - 1;
  const more = b.peak_memory_bytes - a.peak_memory_bytes;
  const pace = slower === 0 ? `A step of ${planName(right)} takes as long as one of ${planName(left)}`
      : `A step of ${planName(right)} takes ${percentText(Math.abs(slower))} ${slower > 0 ? 'longer' : 'less'} than ` +
        `one of ${planName(left)}`;
  const memory = more === 0 ? 'the same' : `${bytesText(Math.abs(more))} ${more > 0 ? 'more' : 'less'}`;
  return `${pace}, and its fullest rank needs ${memory} memory.`;
}

function comparisonSection(data, page) {
  if (page.plans.length < 2) return null;
  const holder = make('div', {class: 'comparison'});
  const finding = make('p', {class: 'lead', role: 'status'});
  const chosen = {left: 0, right: page.picked};
  const names = page.plans.map((entry) =>
      `${planHeading(entry)}${entry.words ? `: ${entry.words}` : ''}`);
  const show = () => {
    const [left, right] = [page.plans[chosen.left], page.plans[chosen.right]];
    finding.textContent = comparisonFinding(left, right);
    holder.replaceChildren(...[...makeDecisions(left, right), ...makeMeasures(left, right)].flat()
        .filter((node) => !isAbsent(node)));
  };
  const leftChoice = makeSelect('Compare', names, chosen.left, (index) => {
    chosen.left = index;
    show();
  });
  const rightChoice = makeSelect('with', names, chosen.right, (index) => page.pick(index));
  page.addEventListener('pick', () => {
    chosen.right = page.picked;
    rightChoice.querySelector('select').selectedIndex = page.picked;
    show();
  });
  show();
  return makeSection('comparison', 'Comparison', null,
      make('p', {class: 'choices'}, leftChoice, rightChoice), finding, holder);
}
