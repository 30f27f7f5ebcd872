// Several models on the same GPUs: one row per GPU, and what each job runs where. The page of
// `penstock multi`; it has no plan of its own.

const kGpuRow = 22;
const kGpuNames = 56;
const kMostGpuRows = 128;

/** A colour for every job: hues a golden angle apart, so that neighbours differ. */
function jobColour(index) {
  return `hsl(${Math.round(index * 137.508) % 360} 52% 55%)`;
}

function multiVerdictSection({model, multi}) {
  const {makespan_ns: makespan, bound_ns: bound, best} = multi;
  const gained = isAbsent(bound) ? '' :
      ` No schedule takes less than ${durationWords(bound)}: this one takes ${percentText(makespan / bound - 1)} more.`;
  return make('section', {id: 'verdict', 'aria-labelledby': 'verdict-heading'},
      make('h1', {id: 'verdict-heading'}, model),
      make('p', {class: 'verdict'}, withUnits(`${durationWords(makespan)} by ${best}.${gained}`)),
      ...multi.notes.map((note) => make('p', {class: 'muted'}, withUnits(note))));
}

/** Those on the same GPU, in the order of their starts. */
function stretchesByGpu({gpus, stretches}) {
  const rows = Array.from({length: gpus}, () => []);
  for (const [gpu, job, start, end] of stretches) rows[gpu].push({job, start, end});
  return rows;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

function stretchBar(multi, {job, start, end}, row, scale) {
  const width = Math.max(0.5, (end - start) * scale);
  const title = svg('title', {}, `${multi.names[job]}: ${durationWords(start)} to ${durationWords(end)}`);
  const bar = svg('rect', {x: kGpuNames + start * scale, y: row * kGpuRow + 2, width, height: kGpuRow - 4,
    fill: jobColour(job)}, title);
  const name = multi.names[job];
  if (width < 8 * name.length + 6) return [bar];
  return [bar, svg('text', {x: kGpuNames + start * scale + 4, y: row * kGpuRow + 15, 'font-size': 11, fill: '#000',
    'pointer-events': 'none'}, name)];
}

function gpuChart(multi, width) {
  const rows = stretchesByGpu(multi).slice(0, kMostGpuRows);
  const scale = (width - kGpuNames) / Math.max(1, multi.makespan_ns);
  const chart = svg('svg', {width, height: rows.length * kGpuRow, role: 'img',
    'aria-label': `What ${countOf(rows.length, 'GPU')} run over ${durationWords(multi.makespan_ns)}`});
  rows.forEach((stretches, row) => {
    chart.append(svg('text', {x: 0, y: row * kGpuRow + 15, 'font-size': 11, fill: 'currentColor'}, `GPU ${row}`),
        ...stretches.flatMap((stretch) => stretchBar(multi, stretch, row, scale)));
  });
  return chart;
}

function gpusSection({multi}) {
  const busy = multi.stretches.reduce((sum, [, , start, end]) => sum + end - start, 0);
  const share = busy / (multi.gpus * multi.makespan_ns);
  const holder = make('div', {class: 'gpu-chart'});
  const paint = () => holder.replaceChildren(gpuChart(multi, Math.max(320, holder.clientWidth || 960)));
  requestAnimationFrame(paint);
  addEventListener('resize', paint);
  const left = multi.gpus - kMostGpuRows;
  return makeSection('gpus', 'Who runs where',
      `The GPUs are busy ${percentText(share)} of the time.${left > 0 ? ` The first ${kMostGpuRows} are shown.` : ''}`,
      holder);
}

function multiJobColumns(multi) {
  const late = multi.jobs.some(({deadline_ns: deadline}) => !isAbsent(deadline));
  return [
    {key: 'name', title: 'Job', value: (row) => row.name},
    {key: 'start_ns', title: 'Start', numeric: true, text: durationWords, value: (row) => row.start_ns},
    {key: 'end_ns', title: 'End', numeric: true, text: durationWords, value: (row) => row.end_ns},
    late && {key: 'deadline_ns', title: 'Deadline', numeric: true, text: durationWords, value: (row) => row.deadline_ns},
    {key: 'count', title: 'GPUs', numeric: true, text: countText, value: (row) => row.gpus.length},
    {key: 'runs', title: 'Runs', class: 'prose', value: (row) => row.runs},
  ].filter(Boolean);
}

function multiJobsSection({multi}) {
  const columns = multiJobColumns(multi);
  return makeSection('jobs', 'The jobs', 'In the order of their starts.',
      makeTable('Jobs', columns, multi.jobs, {sortable: true}), makeSaveButtons('jobs', columns, multi.jobs));
}

function multiWaysSection({multi}) {
  const columns = [
    {key: 'name', title: 'Way', value: (row) => row.name},
    {key: 'makespan_ns', title: 'Makespan', numeric: true, text: durationWords, value: (row) => row.makespan_ns},
    {key: 'over', title: 'Over the bound', numeric: true, text: (value) => value.toFixed(3),
      value: (row) => isAbsent(multi.bound_ns) ? null : row.makespan_ns / multi.bound_ns},
  ];
  return makeSection('ways', 'Ways to share the GPUs', 'All that were tried; the best one is shown above.',
      makeTable('Ways', columns, multi.ways, {sortable: true}));
}

const kMultiSections = [
  ['Answer', multiVerdictSection],
  ['GPUs', gpusSection],
  ['Jobs', multiJobsSection],
  ['Ways', multiWaysSection],
];
