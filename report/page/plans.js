// (3) The plans that were ranked, why each is where it is, and why others cannot run.

// What a plan decides, in the trainers' letters, with what they mean as a tooltip.
const kDegreeColumns = [
  {key: 'tensor', title: 'TP', abbreviates: 'tensor-parallel ranks'},
  {key: 'context', title: 'CP', abbreviates: 'context-parallel ranks, which divide a sequence', rare: true},
  {key: 'expert', title: 'EP', abbreviates: 'expert-parallel ranks', rare: true},
  {key: 'pipeline', title: 'PP', abbreviates: 'pipeline ranks'},
  {key: 'data', title: 'DP', abbreviates: 'data-parallel ranks'},
  {key: 'chunks', title: 'VP', abbreviates: 'virtual stages per rank'},
  {key: 'micro_batch_size', title: 'mbs', abbreviates: 'micro-batch size'},
  {key: 'micro_batches', title: 'M', abbreviates: 'micro-batches of a step and DP rank'},
].map((column) => ({...column, numeric: true, value: ({plan}) => plan[column.key] ?? 1, text: countText}));

/** The best is on the front anyway: nothing is faster. */
function planMarks(entry) {
  return [
    ['ranked', entry.title].includes(entry.role) ? null : entry.role,
    entry.tied ? 'tied' : null,
    entry.on_pareto_front && entry.role !== 'best' ? 'Pareto' : null,
  ].filter(Boolean).join(', ');
}

/** Columns of decisions; `mark` tells those that are not the first plan's. */
function decisionColumns(plans) {
  const first = plans[0];
  return [
    ...kDegreeColumns.filter(({rare, value}) => !rare || plans.some((entry) => value(entry) > 1)),
    {key: 'schedule', title: 'Schedule', value: ({plan}) => (plan.pipeline > 1 ? plan.schedule : null)},
    {key: 'recompute', title: 'Recompute', abbreviates: 'which activations, and in how many of all sections',
     value: (entry) => entry.recompute_words},
    {key: 'sharding', title: 'Shards', abbreviates: 'what the replicas divide', value: (entry) => entry.sharding_words ?? null},
    {key: 'devices', title: 'GPUs', numeric: true, text: countText, value: ({plan}) => plan.devices},
  ].map((column) => ({...column, mark: (entry) => (column.value(entry) === column.value(first) ? null : 'differs')}));
}

function planColumns(data) {
  const measures = [
    {key: 'step_time_ns', title: 'Step', numeric: true, text: durationText,
     value: ({prediction}) => prediction.step_time_ns},
    {key: 'uncertainty', title: '±', abbreviates: 'error of the step time', numeric: true,
     text: (value, {prediction}) => intervalText(prediction), value: ({prediction}) => uncertaintyOf(prediction)},
    {key: 'throughput', title: throughputUnit(data), numeric: true, text: throughputText,
     value: ({prediction}) => throughputOf(prediction)},
    {key: 'peak_memory_bytes', title: 'Memory', abbreviates: 'peak of the fullest rank', numeric: true,
     text: bytesText, value: ({prediction}) => prediction.peak_memory_bytes},
    {key: 'bubble', title: 'Bubble', abbreviates: kBubbleMeans, numeric: true, text: percentText,
     value: ({prediction}) => prediction.bubble_rate_makespan},
    {key: 'price', title: priceUnit(data), numeric: true, text: dollarsText,
     value: ({prediction}) => priceOf(prediction)},
  ];
  return [
    ...measures.filter((column) => column.key !== 'price' || hasPrices(data)),
    ...decisionColumns(data.plans),
    {key: 'marks', title: 'Marks', value: (entry) => planMarks(entry) || null},
  ];
}

/** The plan's name, as a button that lays it beside plan 1 where there is more than one. */
function nameColumn(page) {
  const button = (entry) => make('button', {
    type: 'button', class: 'pick', 'aria-pressed': 'false', 'data-plan': page.plans.indexOf(entry),
    'aria-label': `Compare ${planName(entry)}`,
  }, entry.title);
  return {
    key: 'title', title: 'Plan', value: (entry) => sortableTitle(entry.title),
    node: (value, entry) => (page.plans.length > 1 ? button(entry) : entry.title),
  };
}

/** Numbers sort as numbers and before words. */
function sortableTitle(title) {
  return /^\d+$/.test(title) ? title.padStart(9, ' ') : title;
}

/** What differs from plan 1, why that makes it slower, and the command that finds exactly this plan. */
function planDetail(entry) {
  return make('div', {class: 'why'},
      make('p', {}, entry.differs ? [make('b', {}, entry.differs), '. '] : null,
          entry.reason ? `${capitalized(entry.reason)}. ` : null,
          entry.placed ? make('span', {class: 'muted'}, `${capitalized(entry.placed)}.`) : null),
      entry.command ? makeCommand(entry.command, `the command that finds ${planName(entry)}`) : null);
}

/** Shows which plan was picked; clicks anywhere in a row pick, too, but not those on its other controls. */
function connectPicks(holder, page) {
  holder.addEventListener('click', (event) => {
    if (event.target.closest('button:not(.pick), pre, summary, a') || !getSelection().isCollapsed) return;
    const pick = event.target.closest('tbody')?.querySelector('.pick');
    if (!pick) return;
    page.pick(Number(pick.dataset.plan));
    announce(`${planHeading(page.plans[page.picked])} is compared with ` +
        `${planName(page.plans[0])} below`);
  });
  const show = () => {
    for (const pick of holder.querySelectorAll('.pick')) {
      const picked = Number(pick.dataset.plan) === page.picked;
      pick.setAttribute('aria-pressed', String(picked));
      pick.closest('tbody').classList.toggle('picked', picked);
    }
  };
  page.addEventListener('pick', show);
  // Sorting makes the rows again.
  new MutationObserver(show).observe(holder.querySelector('table'), {childList: true});
  show();
}

/** Plans that were near the best one, but for memory. */
function makeInfeasible(data) {
  if (!data.infeasible?.length) return null;
  const columns = [
    {key: 'words', title: 'Plan', class: 'prose', value: (row) => row.words},
    {key: 'step_time_ns', title: 'Step', numeric: true, text: durationText, value: (row) => row.step_time_ns},
    {key: 'peak_memory_bytes', title: 'Memory', numeric: true, text: bytesText,
     value: (row) => row.peak_memory_bytes},
    {key: 'why', title: 'Why it cannot run', class: 'prose', value: (row) => row.why},
  ];
  return make('details', {},
      make('summary', {}, `What you might try next, and does not fit: ${countOf(data.infeasible.length, 'plan')}`),
      makeTable('Plans that do not fit', columns, data.infeasible, {sortable: true}),
      makeSaveButtons('over-memory', columns, data.infeasible));
}

function makeRejected(data) {
  if (!data.rejected?.length) return null;
  const columns = [
    {key: 'reason', title: 'Why they cannot run', class: 'prose', value: (row) => row.reason},
    {key: 'candidates', title: 'Candidates', numeric: true, text: countText, value: (row) => row.candidates},
    {key: 'least_over_bytes', title: 'Too much, least', numeric: true, text: bytesText,
     value: (row) => row.least_over_bytes},
    {key: 'most_over_bytes', title: 'Too much, most', numeric: true, text: bytesText,
     value: (row) => row.most_over_bytes},
    {key: 'remedy', title: 'Smallest change that fits', value: (row) => row.remedy || null},
  ];
  return make('details', {},
      make('summary', {}, `Why ${data.plans?.length ? 'other ' : ''}candidates cannot run: ` +
          countOf(data.rejected.length, 'reason')),
      makeTable('Candidates that cannot run, by reason', columns, data.rejected, {sortable: true}),
      makeSaveButtons('rejected', columns, data.rejected));
}

function plansLead(data) {
  const tied = data.plans.filter((entry) => entry.tied).length;
  return [
    data.plans.length > 1 ? 'Choose a plan to compare it with plan 1 below.' : null,
    tied > 0 ? `${countOf(tied, 'plan')} ${tied === 1 ? 'ties' : 'tie'} with plan 1: the difference in step ` +
        'time is smaller than its error. Choose by memory or price, or measure.' : null,
    data.look_alikes > 0 ? `${countOf(data.look_alikes, 'look-alike')} ${data.look_alikes === 1 ? 'is' : 'are'} ` +
        'left out: the same schedule and degrees, with another placement, other cuts or shards, or within 1 %.' : null,
  ].filter(Boolean).join(' ');
}

/** What the search left out; where nothing fits, that is all there is to say, and it is open. */
function makeLeftOut(data) {
  const isOpen = !data.plans?.length;
  const folds = [makeRejected(data), makeInfeasible(data)].filter((fold) => fold !== null);
  for (const fold of folds) fold.open = isOpen;
  return [data.candidates?.text ? make('p', {class: 'muted'}, data.candidates.text) : null, ...folds];
}

function plansSection(data, page) {
  if (!data.plans?.length) {
    return data.rejected?.length ? makeSection('plans', 'Plans', 'No plan can run.', makeLeftOut(data)) : null;
  }
  const columns = [nameColumn(page), ...planColumns(data)];
  const table = makeTable('Plans with reasons', columns, data.plans,
      {sortable: true, detail: planDetail, rowAttributes: () => ({class: 'plan'})});
  if (page.plans.length > 1) connectPicks(table, page);
  return makeSection('plans', data.plans.length > 1 ? 'Plans' : 'The plan', plansLead(data), table,
      makeSaveButtons('plans', columns.map((column) => column.key === 'title'
          ? {...column, value: (entry) => entry.title} : column), data.plans),
      makeLeftOut(data));
}
