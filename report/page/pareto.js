// (7) What speed costs: plans by two of step time, memory and price.

/** What a point can be placed by; absent for plans that the data price in no other way. */
function paretoMeasures(data) {
  return [
    {key: 'step_time_ns', name: 'step time', unit: 's', text: durationText, scale: 1e9,
     value: (point) => point.step_time_ns},
    {key: 'peak_memory_bytes', name: 'peak memory', unit: 'GiB', text: bytesText, scale: 2 ** 30,
     value: (point) => point.peak_memory_bytes},
    {key: 'price', name: 'price', unit: priceUnit(data), text: dollarsText, scale: 1,
     value: (point) => point.price},
    {key: 'devices', name: 'GPUs', unit: 'GPUs', text: countText, scale: 1, value: (point) => point.devices},
  ].filter((measure) => measure.key !== 'price' || hasPrices(data));
}

function paretoIndexes(data) {
  return new Set((data.pareto ?? []).filter((entry) => Number.isInteger(entry)));
}

/** Every plan and every near miss as a point: {name, kind: "front" | "other" | "infeasible", ...}. */
function paretoPoints(data) {
  const onFront = paretoIndexes(data);
  const ranked = data.plans.length;
  const points = allPlans(data).map((entry, index) => ({
    name: entry.role === 'pareto' ? entry.title : planName(entry), words: entry.words, why: entry.reason,
    kind: entry.on_pareto_front || onFront.has(index) || index >= ranked ? 'front' : 'other',
    step_time_ns: entry.prediction.step_time_ns, peak_memory_bytes: entry.prediction.peak_memory_bytes,
    price: priceOf(entry.prediction), devices: entry.plan.devices,
  }));
  const misses = (data.infeasible ?? []).map((entry) => ({
    name: entry.title ?? '\u2715', words: entry.words, why: entry.why, kind: 'infeasible',
    step_time_ns: entry.step_time_ns, peak_memory_bytes: entry.peak_memory_bytes,
  }));
  return [...points, ...misses];
}

// In the order in which they are drawn: the front lies on top.
const kPointKinds = [
  {kind: 'infeasible', name: 'does not fit', colour: '--bad', hollow: true},
  {kind: 'other', name: 'other plans', colour: '--muted'},
  {kind: 'front', name: 'on the Pareto front', colour: '--accent'},
];

const kWideRange = 4;
const kDotSize = 10;

function nameDots(plot, points, across, up) {
  const dots = points.map((point) => ({
    x: plot.valToPos(across.value(point) / across.scale, 'x', true),
    y: plot.valToPos(up.value(point) / up.scale, 'y', true),
  }));
  const radius = kDotSize / 2 * devicePixelRatio;
  const taken = dots.map(({x, y}) => ({left: x - radius, right: x + radius, middle: y}));
  points.forEach((point, index) =>
    drawLabel(plot, point.name, dots[index].x, dots[index].y, themeColour('--text'), taken));
}

/** Of the marks of a logarithmic axis those that get a number. */
function roundMarks(plot, splits) {
  return splits.map((value) => {
    const leading = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
    return [1, 2, 3, 5, 7].includes(Math.round(leading * 1e6) / 1e6) ? value : null;
  });
}

/** Logarithmic where the greatest is many times the least: else most points would share a corner. */
function scatterScale(values) {
  const least = Math.min(...values);
  const greatest = Math.max(...values);
  if (least > 0 && greatest / least > kWideRange) {
    return {distr: 3, range: [least / 1.15, greatest * 1.15]};
  }
  // Leaves air around the points, and never an empty range.
  const air = (greatest - least) * 0.08 || Math.abs(greatest) * 0.08 || 1;
  return {range: [Math.max(0, least - air), greatest + air]};
}

/** Memory and GPUs come in powers of two. */
function marksOf(measure) {
  return {GiB: {incrs: kGibMarks}, GPUs: {incrs: kGpuMarks}}[measure.unit] ?? {};
}

function scatterPlot(points, across, up, width, say) {
  const placed = points.filter((point) => !isAbsent(across.value(point)) && !isAbsent(up.value(point)))
      .sort((a, b) => across.value(a) - across.value(b));
  const ofKind = (kind) => placed.map((point) => (point.kind === kind ? up.value(point) / up.scale : null));
  const label = (measure) => (measure.name === measure.unit ? measure.name : `${measure.name} (${measure.unit})`);
  const tick = (value) => String(Number(value.toPrecision(6)));
  const xScale = scatterScale(placed.map((point) => across.value(point) / across.scale));
  const yScale = scatterScale(placed.map((point) => up.value(point) / up.scale));
  const filter = (scale) => (scale.distr === 3 ? {filter: roundMarks} : {});
  return {
    data: [placed.map((point) => across.value(point) / across.scale),
      ...kPointKinds.map(({kind}) => ofKind(kind))],
    options: {
      height: 320,
      scales: {x: {time: false, ...xScale}, y: yScale},
      axes: [makeAxis(capitalized(label(across)), tick, {...marksOf(across), ...filter(xScale)}),
        makeAxis(capitalized(label(up)), tick, {size: 60, ...marksOf(up), ...filter(yScale)})],
      series: [{}, ...kPointKinds.map(({colour, hollow}) => ({
        paths: () => null, stroke: themeColour(colour),
        points: {show: true, size: kDotSize, width: 2, stroke: themeColour(colour),
                 fill: themeColour(hollow ? '--surface' : colour)},
      }))],
      cursor: {drag: {x: false, y: false}, points: {show: false}, y: false},
      hooks: {
        draw: [(plot) => nameDots(plot, placed, across, up)],
        setCursor: [(plot) => {
          const point = placed[plot.cursor.idx];
          say(point && `${point.name}: ${point.words}; ${across.text(across.value(point))}, ` +
              `${up.text(up.value(point))}${point.why ? ` \u2013 ${point.why}` : ''}`);
        }],
      },
    },
  };
}

function paretoColumns(measures) {
  return [
    {key: 'name', title: 'Plan', value: (point) => point.name},
    {key: 'kind', title: 'Kind', value: (point) => kPointKinds.find(({kind}) => kind === point.kind).name},
    ...measures.map((measure) => ({key: measure.key, title: capitalized(measure.name), numeric: true,
                                   text: measure.text, value: measure.value})),
    {key: 'words', title: 'What', class: 'prose', value: (point) => point.words},
    {key: 'why', title: 'Why', class: 'prose', value: (point) => point.why},
  ];
}

function paretoFinding(points) {
  const front = points.filter(({kind}) => kind === 'front');
  const fastest = front.reduce((best, point) => (point.step_time_ns < best.step_time_ns ? point : best), front[0]);
  const smallest = front.reduce(
      (best, point) => (point.peak_memory_bytes < best.peak_memory_bytes ? point : best), front[0]);
  if (!fastest) return 'No plan is on the Pareto front.';
  return `${countOf(front.length, 'plan')} on the Pareto front, where no plan is better in every measure: from ${durationText(fastest.step_time_ns)} with ` +
      `${bytesText(fastest.peak_memory_bytes)} (the fastest) to ${bytesText(smallest.peak_memory_bytes)} with ` +
      `${durationText(smallest.step_time_ns)} (the smallest).`;
}

function paretoSection(data) {
  if (!data.pareto?.length && !data.pareto_plans?.length) return null;
  const points = paretoPoints(data);
  const measures = paretoMeasures(data);
  const chosen = {across: 0, up: 1};
  const holder = make('div');
  const show = () => {
    forgetChartsOf(holder);
    holder.replaceChildren(makeFigure({
      finding: paretoFinding(points), legend: kPointKinds.filter(({kind}) =>
        points.some((point) => point.kind === kind)),
      draw: (width, say) => scatterPlot(points, measures[chosen.across], measures[chosen.up], width, say),
    }));
    paintCharts();
  };
  const select = (label, key) => makeSelect(label, measures.map(({name}) => name), chosen[key], (index) => {
    chosen[key] = index;
    show();
  });
  show();
  return makeSection('pareto', 'What speed costs', null,
      kHasCurves ? make('p', {class: 'choices'}, select('Across', 'across'), select('Up', 'up')) : null,
      holder, makeNumbers('pareto', 'Pareto front and other plans', paretoColumns(measures), () => points));
}
