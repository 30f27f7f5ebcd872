// Training on samples of different lengths: what forming micro-batches of different shapes gains over
// other ways, and what the first batch that was drawn looks like. The page of `penstock dynamic`.

// Of things that are counted one by one.
const kWholeMarks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

function tokensText(value) {
  return `${countText(Math.round(value))}${kNoBreak}tokens/s`;
}

function batchesOf(count, what) {
  return `${countText(count)} ${what}${count === 1 ? '' : 'es'}`;
}

function fittingMethods({methods}) {
  return methods.filter(({fits}) => fits);
}

function dynamicFinding(dynamic) {
  const [ours, ...others] = dynamic.methods;
  if (!ours.fits) return `Nothing fits: ${ours.why_not}`;
  const rest = others.filter(({fits}) => fits);
  const words = rest.map(({method, speed_up_of_dynamic: speed}) =>
      `${speed.of_all.toFixed(2)} times as fast as ${method}`);
  return `${tokensText(ours.tokens_per_s)} with ${ours.layout}` +
      (words.length > 0 ? `: ${words.join(', ')}.` : '.');
}

function planningWords({planning_time_ns: time, planner_threads: threads}) {
  if (isAbsent(time)) return null;
  return `Planning a batch took ${durationText(time)} on one core; ${countOf(threads, 'planner thread')} ` +
      `${threads === 1 ? 'plans' : 'plan'} as fast as it trains.`;
}

function dynamicVerdictSection({model, question, dynamic}) {
  const planning = planningWords(dynamic);
  return make('section', {id: 'verdict', 'aria-labelledby': 'verdict-heading'},
      make('h1', {id: 'verdict-heading'}, model),
      make('p', {class: 'muted question'}, withUnits(question?.words ?? '')),
      make('p', {class: 'verdict'}, withUnits(dynamicFinding(dynamic))),
      make('p', {class: 'muted'}, withUnits(dynamic.lengths)),
      planning && make('p', {class: 'muted'}, planning));
}

function methodColumns() {
  const speed = (key) => ({speed_up_of_dynamic: found}) => found?.[key];
  const times = (value) => value.toFixed(2);
  return [
    {key: 'method', title: 'Method', value: (row) => row.method},
    {key: 'tokens_per_s', title: 'Tokens/s', numeric: true, text: (value) => countText(Math.round(value)),
     value: (row) => row.tokens_per_s},
    {key: 'of_all', title: 'Dynamic is faster by', numeric: true, text: times, value: speed('of_all')},
    {key: 'nine_of_ten_low', title: 'from', numeric: true, text: times, value: speed('nine_of_ten_low')},
    {key: 'nine_of_ten_high', title: 'to', numeric: true, text: times, value: speed('nine_of_ten_high')},
    {key: 'padding_efficiency', title: 'Real of padded', numeric: true, text: percentText,
     value: (row) => row.padding_efficiency},
    {key: 'mean_step_time_ns', title: 'Mean step', numeric: true, text: durationText,
     value: (row) => row.mean_step_time_ns},
    {key: 'setting', title: 'Setting', value: (row) => row.setting},
    {key: 'layout', title: 'Layout', class: 'prose', value: (row) => row.layout ?? row.why_not},
  ];
}

function methodsSection({dynamic}) {
  return makeSection('methods', 'Ways to form micro-batches',
      'Each with its own best layout and setting, all through the same prices, memory and schedules.',
      makeTable('Methods', methodColumns(), dynamic.methods, {sortable: true}),
      makeSaveButtons('methods', methodColumns(), dynamic.methods));
}

/** Bars of counts by length, two an octave. */
function histogramPlot(bins, pairs, say) {
  const bars = uPlot.paths.bars({size: [pairs ? 0.4 : 0.8], align: pairs ? -1 : 0});
  const second = uPlot.paths.bars({size: [0.4], align: 1});
  const columns = [bins.map((bin, index) => index), bins.map(({samples}) => samples)];
  if (pairs) columns.push(bins.map(({decoder_samples: samples}) => samples));
  const series = [{}, {stroke: themeColour('--accent'), fill: themeColour('--accent'), paths: bars,
                       points: {show: false}}];
  if (pairs) series.push({stroke: themeColour('--muted'), fill: themeColour('--muted'), paths: second,
                          points: {show: false}});
  return {
    data: columns,
    options: {
      height: 240,
      scales: {x: {time: false, range: [-0.6, bins.length - 0.4]},
               y: {range: (plot, least, greatest) => [0, greatest * 1.08 || 1]}},
      axes: [makeAxis('Tokens of a sample', (index) => (bins[index] ? countText(bins[index].from) : ''),
          {incrs: [1, 2, 4, 8]}), makeAxis('Samples', countText, {size: 60})],
      series,
      cursor: {drag: {x: false, y: false}, points: {show: false}, y: false},
      hooks: {setCursor: [(plot) => {
        const bin = bins[plot.cursor.idx];
        say(bin && `${countText(bin.from)} to ${countText(bin.to - 1)} tokens: ${countOf(bin.samples, 'sample')}` +
            (pairs ? `, ${countOf(bin.decoder_samples, 'target')}` : ''));
      }]},
    },
  };
}

function histogramColumns(pairs) {
  return [
    {key: 'from', title: 'From', numeric: true, text: countText, value: (bin) => bin.from},
    {key: 'to', title: 'below', numeric: true, text: countText, value: (bin) => bin.to},
    {key: 'samples', title: pairs ? 'Sources' : 'Samples', numeric: true, text: countText,
     value: (bin) => bin.samples},
    pairs && {key: 'decoder_samples', title: 'Targets', numeric: true, text: countText,
              value: (bin) => bin.decoder_samples},
  ].filter(Boolean);
}

function lengthsSection({dynamic}) {
  const {histogram, pairs} = dynamic;
  return makeSection('lengths', 'Lengths', null,
      makeFigure({
        finding: withUnits(dynamic.lengths),
        legend: pairs ? [{name: 'sources', colour: '--accent'}, {name: 'targets', colour: '--muted'}] : null,
        draw: (width, say) => histogramPlot(histogram, pairs, say),
      }),
      makeNumbers('lengths', 'Samples by length', histogramColumns(pairs), () => histogram));
}

function shapeWords({samples, tokens, decoder_tokens: decoder}) {
  return `${samples} x ${countText(tokens)}${decoder > 0 ? ` + ${countText(decoder)}` : ''}`;
}

function paddedOf({samples, tokens, decoder_tokens: decoder}) {
  return samples * (tokens + decoder);
}

/** The tokens of every micro-batch of a replica in order: padding behind what is real. */
function microBatchPlot(rows, say) {
  const bars = uPlot.paths.bars({size: [0.85]});
  const bar = (colour) =>
    ({stroke: themeColour(colour), fill: themeColour(colour), paths: bars, points: {show: false}});
  return {
    data: [rows.map((row, index) => index + 1), rows.map(paddedOf), rows.map((row) => row.real_tokens)],
    options: {
      height: 260,
      scales: {x: {time: false, range: [0.3, rows.length + 0.7]},
               y: {range: (plot, least, greatest) => [0, greatest * 1.08 || 1]}},
      axes: [makeAxis('Micro-batch, in the order in which it runs', countText, {incrs: kWholeMarks}),
        makeAxis('Tokens', countText, {size: 66})],
      series: [{}, bar('--line'), bar('--accent')],
      cursor: {drag: {x: false, y: false}, points: {show: false}, y: false},
      hooks: {setCursor: [(plot) => {
        const row = rows[plot.cursor.idx];
        say(row && `Micro-batch ${plot.cursor.idx + 1}: ${shapeWords(row)} tokens, ` +
            `${percentText(row.real_tokens / paddedOf(row))} of them real`);
      }]},
    },
  };
}

function microBatchColumns() {
  return [
    {key: 'place', title: 'Place', numeric: true, text: countText, value: (row) => row.place + 1},
    {key: 'shape', title: 'Samples x tokens', value: shapeWords},
    {key: 'real_tokens', title: 'Real tokens', numeric: true, text: countText, value: (row) => row.real_tokens},
    {key: 'padded', title: 'Padded tokens', numeric: true, text: countText, value: paddedOf},
    {key: 'weight', title: 'Weight of its loss', numeric: true, text: percentText, value: (row) => row.weight},
  ];
}

function microBatchesSection({dynamic}) {
  const rows = dynamic.micro_batches ?? [];
  if (rows.length === 0) return null;
  const replicas = 1 + Math.max(...rows.map(({replica}) => replica));
  const holder = make('div');
  const show = (index) => {
    const own = rows.filter(({replica}) => replica === index);
    const shapes = new Set(own.map(shapeWords)).size;
    forgetChartsOf(holder);
    holder.replaceChildren(
        makeFigure({
          finding: `${batchesOf(own.length, 'micro-batch')} of ${countOf(shapes, 'shape')} in replica ${index + 1} ` +
              'of the first batch.',
          legend: [{name: 'real', colour: '--accent'}, {name: 'padding', colour: '--line'}],
          draw: (width, say) => microBatchPlot(own, say),
        }),
        makeNumbers('micro-batches', `Micro-batches of replica ${index + 1}`, microBatchColumns(), () => own));
    paintCharts();
  };
  show(0);
  const choice = replicas > 1 ? make('p', {class: 'choices'}, makeSelect('Replica',
      Array.from({length: replicas}, (_, index) => String(index + 1)), 0, show)) : null;
  return makeSection('micro-batches', 'Micro-batches', null, choice, holder);
}

// In the order of the methods.
const kMethodColours = ['--accent', '--text', '--muted', '--bad'];

function stepsPlot(methods, say) {
  const count = methods[0].batches.length;
  const series = methods.map((method, index) => ({
    stroke: themeColour(kMethodColours[index % kMethodColours.length]), width: index === 0 ? 2 : 1,
    points: {show: count <= 60, size: 5},
  }));
  return {
    data: [Array.from({length: count}, (_, index) => index + 1),
      ...methods.map(({batches}) => batches.map(({step_time_ns: step}) => step / 1e9))],
    options: {
      height: 260,
      scales: {x: {time: false}, y: {range: (plot, least, greatest) => [0, greatest * 1.08 || 1]}},
      axes: [makeAxis('Batch', countText, {incrs: kWholeMarks}),
        makeAxis('Step, seconds', (value) => String(Number(value.toPrecision(4))), {size: 60})],
      series: [{}, ...series],
      cursor: {drag: {x: true, y: false}, points: {show: false}, y: false},
      hooks: {setCursor: [(plot) => {
        const at = plot.cursor.idx;
        say(isAbsent(at) ? null : `Batch ${at + 1}: ` + methods.map(({method, batches}) =>
            `${method} ${durationText(batches[at].step_time_ns)}`).join(', '));
      }]},
    },
  };
}

function stepColumns(methods) {
  return [
    {key: 'batch', title: 'Batch', numeric: true, text: countText, value: (row) => row + 1},
    ...methods.map(({method, batches}) => ({key: method, title: capitalized(method), numeric: true, text: durationText,
                                            value: (row) => batches[row].step_time_ns})),
    {key: 'schedule', title: 'Schedule', value: (row) => methods[0].batches[row].schedule},
    {key: 'recompute', title: 'Recompute', value: (row) => methods[0].batches[row].recompute},
  ];
}

function stepTimesSection({dynamic}) {
  const methods = fittingMethods(dynamic);
  if (methods.length === 0) return null;
  const count = methods[0].batches.length;
  return makeSection('steps', 'Step times', null,
      makeFigure({
        finding: `Predicted time of a step over ${batchesOf(count, 'batch')}.`,
        legend: methods.map(({method}, index) => ({name: method, colour: kMethodColours[index % kMethodColours.length],
                                                   line: true})),
        draw: (width, say) => stepsPlot(methods, say),
      }),
      makeNumbers('steps', 'Step times', stepColumns(methods),
          () => Array.from({length: count}, (_, index) => index)));
}

const kDynamicSections = [
  ['Answer', dynamicVerdictSection],
  ['Step', (data, page) => (data.plans.length > 0 ? timelineSection(data, page) : null)],
  ['Methods', methodsSection],
  ['Lengths', lengthsSection],
  ['Micro-batches', microBatchesSection],
  ['Step times', stepTimesSection],
  ['Memory', (data, page) => (data.plans.length > 0 ? memorySection(data, page) : null)],
  ['Assumptions', (data, page) => (data.plans.length > 0 ? assumptionsSection(data, page) : null)],
  ['Numbers', numbersSection],
];
