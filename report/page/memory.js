// (5) Memory of every rank: its peak by category, and how it rises and falls over the step.

// Memory of devices comes in these sizes.
const kGibMarks = [1, 2, 4, 8, 16, 32, 64];
const kManyRanks = 4;  // up to so many are shown next to each other

function memoryColour(part) {
  return `--memory-${part.name}`;
}

/** Ranks as the bars and tables want them: {parts: {name: bytes}, total, capacity}. */
function memoryOfRanks(prediction) {
  return prediction.ranks.map((rank) => ({
    total: rank.memory.total_bytes, capacity: rank.capacity_bytes,
    parts: Object.fromEntries(kMemoryParts.map((part) => [part.name, rank.memory[part.total] ?? 0])),
  }));
}

function memoryColumns() {
  const bytes = (key, title, value) => ({key, title, numeric: true, text: bytesText, value});
  return [
    {key: 'rank', title: 'PP rank', value: (row) => row.ranks},
    ...kMemoryParts.map((part) => bytes(`${part.name}_bytes`, capitalized(part.name),
        (row) => row.parts[part.name])),
    bytes('total_bytes', 'Total', (row) => row.total),
    bytes('capacity_bytes', 'Limit', (row) => row.capacity),
    bytes('left_bytes', 'Left', (row) => row.capacity - row.total),
  ];
}

/** One bar a rank: what the peak is made of, and the limit as a mark. */
function makeMemoryBar(label, row, widest) {
  const share = (bytes) => `${100 * bytes / widest}%`;
  const segments = kMemoryParts.filter((part) => row.parts[part.name] > 0).map((part) =>
      make('span', {class: 'segment', title: `${part.name}: ${bytesText(row.parts[part.name])}`,
                    style: `width: ${share(row.parts[part.name])}; --segment: var(${memoryColour(part)})`}));
  return make('div', {class: 'bar-row'}, make('span', {class: 'bar-label'}, label),
      make('span', {class: 'bar-track'}, segments,
          make('span', {class: 'bar-limit', style: `left: ${share(row.capacity)}`})),
      make('span', {class: 'bar-value'}, bytesText(row.total)));
}

function makeMemoryBars(prediction) {
  const rows = memoryOfRanks(prediction);
  const widest = Math.max(...rows.map((row) => Math.max(row.total, row.capacity)));
  const fullest = tightestRank(prediction);
  const tight = rows[fullest];
  const finding = `PP rank ${fullest} is the fullest: ${bytesText(tight.total)} of ` +
      `${bytesText(tight.capacity)}, ${roomText(tight.capacity - tight.total)}.`;
  // Bars that look alike are one; the table has one row for ranks that are alike to the byte.
  const looks = ({parts, capacity}) => [...Object.values(parts), capacity].map(bytesText).join();
  const exact = ({parts, capacity}) => [...Object.values(parts), capacity].join();
  const makeRows = () => foldRanks(rows, exact).map((fold) =>
      ({...fold.row, ranks: ranksCell(fold, rows.length)}));
  return make('figure', {},
      make('figcaption', {}, finding),
      makeLegend([...kMemoryParts.map((part) => ({name: part.name, colour: memoryColour(part)})),
        {name: 'limit', colour: '--bad', line: true}]),
      make('div', {class: 'bars', role: 'img', 'aria-label': `Peak memory by rank. ${finding}`},
          foldRanks(rows, looks).map((fold) =>
              makeMemoryBar(ranksWords(fold, rows.length), fold.row, widest))),
      makeNumbers('memory-by-rank', 'Peak memory by rank', memoryColumns(), makeRows));
}

/** Stash over time of one rank in nanoseconds and bytes, from the start of the step to its end. */
function stashCurve(timeline, boxes, memory) {
  const {first, count} = memory;
  const times = [0];
  const values = [0];
  for (let point = first; point < first + count; ++point) {
    times.push(boxes.pointTime[point] * timeline.tick_ns);
    values.push(boxes.stash[point]);
  }
  times.push(timeline.length_ns);
  values.push(values[values.length - 1]);
  return {times, values};
}

function constantParts(memory) {
  return kMemoryParts.filter((part) => part.constant).map((part) =>
      ({...part, bytes: memory.constant_bytes[part.constant] ?? 0}));
}

/** Cumulated series of uPlot, from the top of the stack down, so that each is painted over the one above. */
function stackedSeries(memory, curve) {
  const series = [];
  let sum = 0;
  for (const part of constantParts(memory)) {
    sum += part.bytes;
    const level = sum;
    series.unshift({colour: memoryColour(part), values: curve.values.map(() => level / 2 ** 30)});
  }
  const constant = sum;
  const total = curve.values.map((stash) => (constant + stash) / 2 ** 30);
  series.unshift({colour: '--memory-activations', values: total});
  return series;
}

function drawPeak(plot, memory) {
  const x = plot.valToPos(memory.peak_at_ns, 'x', true);
  const y = plot.valToPos(memory.peak_bytes / 2 ** 30, 'y', true);
  const limit = plot.valToPos(memory.capacity_bytes / 2 ** 30, 'y', true);
  drawDot(plot, x, y, 3.5, themeColour('--surface'), themeColour('--text'));
  // Below the peak where there is no room between it and the limit's line.
  const shift = y > limit && y - limit < 20 * devicePixelRatio ? 12 : -9;
  // Where the peak is stands above the plot.
  drawLabel(plot, bytesText(memory.peak_bytes), x, y + shift * devicePixelRatio,
      themeColour('--text'));
}

function memoryPlot(timeline, memory, curve, width, say) {
  const shown = decimate(curve.times, curve.values, width);
  const series = stackedSeries(memory, {values: shown.values});
  // Room for the limit's name above its line.
  const top = 1.14 * Math.max(memory.capacity_bytes, memory.peak_bytes) / 2 ** 30;
  const steps = uPlot.paths.stepped({align: 1});
  const constant = constantParts(memory).reduce((sum, part) => sum + part.bytes, 0);
  return {
    data: [shown.times, ...series.map(({values}) => values)],
    options: {
      height: 240,
      scales: {x: {time: false, range: [0, timeline.length_ns]}, y: {range: [0, top]}},
      axes: [makeAxis('Time in the step', durationTick, {space: 90}),
        makeAxis('GiB', (value) => value.toFixed(0), {size: 44, incrs: kGibMarks})],
      series: [{}, ...series.map(({colour}) => ({
        fill: themeColour(colour), stroke: themeColour(colour), width: 0, paths: steps, points: {show: false},
      }))],
      cursor: {drag: {x: false, y: false}, points: {show: false}},
      hooks: {
        draw: [(plot) => {
          drawLimit(plot, memory.capacity_bytes / 2 ** 30, `limit ${bytesText(memory.capacity_bytes)}`);
          drawPeak(plot, memory);
        }],
        setCursor: [(plot) => {
          const index = plot.cursor.idx;
          say(isAbsent(index) ? null : `${durationText(shown.times[index])}: activations ` +
              `${bytesText(shown.values[index])}, total ${bytesText(constant + shown.values[index])}`);
        }],
      },
    },
  };
}

/** A round time on an axis: "0.5 s", "20 ms". */
function durationTick(ns) {
  if (ns === 0) return '0';
  return durationText(ns).replace(/(\.\d*?)0+(?=\D)/, '$1').replace(/\.(?=\D)/, '');
}

function makeMemoryCurve(timeline, boxes, memory) {
  const curve = stashCurve(timeline, boxes, memory);
  const rank = pipelineRankOf(timeline, memory);
  const ofJob = rank === memory.rank ? '' : ` (rank ${memory.rank} of the job)`;
  const finding = `PP rank ${rank}${ofJob}: peak ${bytesText(memory.peak_bytes)} at ${memory.peak_at} ` +
      `(${durationText(memory.peak_at_ns)}), ${roomText(memory.capacity_bytes - memory.peak_bytes)}.`;
  const columns = [
    {key: 'time_ns', title: 'From', numeric: true, text: durationText, value: (row) => row.time},
    {key: 'stash_bytes', title: 'Activations', numeric: true, text: bytesText, value: (row) => row.stash},
  ];
  const makeRows = () => Array.from({length: memory.count}, (_, index) => ({
    time: boxes.pointTime[memory.first + index] * timeline.tick_ns, stash: boxes.stash[memory.first + index],
  }));
  const figure = makeFigure(
      {finding, draw: (width, say) => memoryPlot(timeline, memory, curve, width, say)});
  const title = `Activations of PP rank ${rank} over time`;
  figure.append(makeNumbers(`stash-rank-${rank}`, title, columns, makeRows));
  return figure;
}

/** Curves of all ranks when they are few, else of the one that is chosen, the fullest at first. */
function makeMemoryCurves(timeline, boxes) {
  const memories = timeline.memory;
  const few = memories.length <= kManyRanks;
  const holder = make('div', {class: few ? 'multiples' : 'single'});
  const show = (chosen) => {
    forgetChartsOf(holder);
    holder.replaceChildren(...chosen.map((memory) => makeMemoryCurve(timeline, boxes, memory)));
    paintCharts();
  };
  if (few) {
    show(memories);
    return holder;
  }
  const tight = fullestMemory(memories);
  show([memories[tight]]);
  return [makeSelect('Rank', memories.map((memory) => `PP rank ${pipelineRankOf(timeline, memory)}`), tight,
      (index) => show([memories[index]])), holder];
}

/** Shows one of the steps whose memory is known; with a choice where there are several. */
function showMemoryOverTime(holder, steps, chosen) {
  const {timeline, boxes} = steps[chosen];
  forgetChartsOf(holder);
  holder.replaceChildren(
      make('h3', {}, steps.length > 1 ? 'Over the step' : `Over the step: ${timeline.title}`),
      ...steps.length > 1 ? [makeSelect('Of', steps.map((step) => step.timeline.title), chosen,
          (index) => showMemoryOverTime(holder, steps, index))] : [],
      ...[makeMemoryCurves(timeline, boxes)].flat());
  paintCharts();
}

function memorySection(data, page) {
  const entry = data.plans?.[0];
  if (!entry?.prediction.ranks?.length) return null;
  const section = makeSection('memory', 'Memory', null, makeMemoryBars(entry.prediction));
  const curves = make('div', {class: 'curves'});
  section.append(curves);
  const steps = [];
  page.addEventListener('decoded', ({detail}) => {
    if (!detail.timeline.memory?.length) return;
    steps.push(detail);
    showMemoryOverTime(curves, steps, 0);
  });
  return section;
}
