// (8) The best plan for every number of GPUs. It never falls: a smaller plan with idle GPUs is a candidate.

// Nodes hold 8 GPUs, and clusters double.
const kGpuMarks = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

function staircaseMeasures(data) {
  const tokens = data.staircase.some((step) => !isAbsent(step.tokens_per_s));
  return [
    tokens ? {key: 'tokens_per_s', name: 'tokens/s', text: throughputText}
           : {key: 'samples_per_s', name: 'samples/s', text: throughputText},
    {key: 'step_time_ns', name: 'step time', text: durationText},
    {key: 'cost_usd_per_mtok', name: '$/Mtok', text: dollarsText},
    {key: 'gpus_used', name: 'GPUs used', text: countText},
  ].filter(({key}) => data.staircase.some((step) => !isAbsent(step[key])));
}

function staircasePlot(steps, measure, width, say) {
  const values = steps.map((step) => step[measure.key] ?? null);
  const fresh = steps.map((step, index) => (step.same_as_before ? null : values[index]));
  const short = (value) => measure.text(value).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');
  return {
    data: [steps.map((step) => step.gpus), values, fresh],
    options: {
      height: 260,
      scales: {x: {time: false, range: (plot, least, greatest) => [Math.max(0, least - 1), greatest + 1]},
               y: {range: (plot, least, greatest) => [0, greatest * 1.08 || 1]}},
      axes: [makeAxis('GPUs', countText, {incrs: kGpuMarks}), makeAxis(capitalized(measure.name), short, {size: 78})],
      series: [{},
        {stroke: themeColour('--accent'), width: 2, paths: uPlot.paths.stepped({align: 1}), points: {show: false}},
        {paths: () => null, stroke: themeColour('--accent'),
         points: {show: true, size: 7, fill: themeColour('--surface'), stroke: themeColour('--accent'), width: 2}}],
      cursor: {drag: {x: false, y: false}, points: {show: false}, y: false},
      hooks: {
        setCursor: [(plot) => {
          const step = steps[plot.cursor.idx];
          say(step && (step.why_not ? `${step.gpus} GPUs: ${step.why_not}`
              : `${step.gpus} GPUs: ${measure.text(step[measure.key])}, ${step.words}${idleWords(step)}`));
        }],
      },
    },
  };
}

function idleWords(step) {
  const idle = step.gpus - step.gpus_used;
  return `${idle > 0 ? `, ${idle} idle` : ''}${step.same_as_before ? ', the same plan as with fewer GPUs' : ''}`;
}

function staircaseColumns(measures) {
  return [
    {key: 'gpus', title: 'GPUs', numeric: true, text: countText, value: (step) => step.gpus},
    ...measures.map(({key, name, text}) => ({key, title: capitalized(name), numeric: true, text,
                                             value: (step) => step[key]})),
    {key: 'idle', title: 'Idle', numeric: true, text: countText,
     value: (step) => (isAbsent(step.gpus_used) ? null : step.gpus - step.gpus_used)},
    {key: 'peak_memory_bytes', title: 'Memory', numeric: true, text: bytesText,
     value: (step) => step.peak_memory_bytes},
    {key: 'same_as_before', title: 'Plan changes', value: (step) =>
      (step.why_not ? null : step.same_as_before ? 'no' : 'yes')},
    {key: 'words', title: 'Plan', class: 'prose', value: (step) => step.why_not ?? step.words},
  ];
}

function staircaseFinding(data) {
  const steps = data.staircase.filter((step) => !step.why_not);
  if (steps.length === 0) return `No plan fits on up to ${countOf(data.staircase.at(-1).gpus, 'GPU')}.`;
  const [least, most] = [steps[0], steps[steps.length - 1]];
  const [measure] = staircaseMeasures(data);
  const speed = (step) => `${measure.text(step[measure.key])} ${measure.name}`;
  const plans = steps.filter((step) => !step.same_as_before).length;
  return `From ${speed(least)} on ${countOf(least.gpus, 'GPU')}` +
      `${steps.length < data.staircase.length ? ' (no plan fits on fewer)' : ''} to ` +
      `${speed(most)} on ${most.gpus}: ${countOf(plans, 'different plan')}.`;
}

/** The curve of one of the measures, with a choice among them. */
function makeStaircaseCurve(data, measures) {
  const holder = make('div');
  const show = (index) => {
    forgetChartsOf(holder);
    holder.replaceChildren(makeFigure({
      finding: staircaseFinding(data),
      legend: [{name: 'best plan', colour: '--accent', line: true},
        {name: 'from here on another plan', colour: '--accent', hollow: true}],
      draw: (width, say) => staircasePlot(data.staircase, measures[index], width, say),
    }));
    paintCharts();
  };
  show(0);
  const choice = kHasCurves && make('p', {class: 'choices'},
      makeSelect('Show', measures.map(({name}) => name), 0, show));
  return [choice, holder];
}

function staircaseSection(data) {
  if (!data.staircase?.length) return null;
  const measures = staircaseMeasures(data);
  return makeSection('staircase', 'More or fewer GPUs', measures.length > 0 ? null : staircaseFinding(data),
      measures.length > 0 ? makeStaircaseCurve(data, measures) : null,
      makeNumbers('staircase', 'The best plan for every number of GPUs', staircaseColumns(measures),
          () => data.staircase));
}
