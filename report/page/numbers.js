// (12) What is in no other table, and everything as files.

function timeColumns() {
  return [
    {key: 'rank', title: 'PP rank', value: (row) => row.ranks},
    ...kTimeParts.map(({name, key}) => ({key, title: capitalized(name), numeric: true, text: durationText,
                                         value: (row) => row.time[key]})),
  ];
}

function stageColumns() {
  return [
    {key: 'stage', title: 'Stage', value: (row) => row.stage},
    {key: 'first_section', title: 'First section', numeric: true, text: countText, value: (row) => row.first},
    {key: 'sections', title: 'Sections', numeric: true, text: countText, value: (row) => row.count},
  ];
}

/** Cuts of a plan are the first sections of its stages, and the number of all. */
function stageRows(cuts) {
  return cuts.slice(0, -1).map((first, stage) => ({stage, first, count: cuts[stage + 1] - first}));
}

/** One line a box: what the timeline draws. */
function boxColumns(timeline, boxes) {
  const ns = (ticks) => ticks * timeline.tick_ns;
  return [
    {key: 'name', value: (box) => boxName(timeline, boxes, box)},
    {key: 'rank', value: (box) => timeline.rows[boxes.row[box]].rank},
    {key: 'lane', value: (box) => timeline.rows[boxes.row[box]].lane},
    {key: 'start_ns', value: (box) => ns(boxes.start[box])},
    {key: 'duration_ns', value: (box) => ns(boxes.duration[box])},
    {key: 'bytes', value: (box) => boxes.bytes[box]},
    {key: 'on_critical_path', value: (box) => (boxes.flags[box] & kOnCriticalPath ? 1 : 0)},
  ];
}

function makeBoxesButton(timeline, boxes) {
  return make('li', {}, make('button', {type: 'button', on: {click: () => saveAs(`${timeline.id}.csv`, 'text/csv',
      rowsAsCsv(boxColumns(timeline, boxes), Array.from({length: boxes.count}, (_, box) => box)))}},
  `Every action: ${timeline.title} (CSV, ${countOf(boxes.count, 'line')})`));
}

function numbersSection(data, page) {
  const plan = data.plans?.[0];
  const ranks = plan?.prediction.ranks ?? [];
  const rows = foldRanks(ranks, ({time}) => JSON.stringify(time)).map((fold) =>
      ({ranks: ranksCell(fold, ranks.length), time: fold.row.time}));
  const files = make('ul', {class: 'files'}, make('li', {}, make('button', {
    type: 'button', id: 'save-data',
    on: {click: () => saveAs('report.json', 'application/json', JSON.stringify(data, null, 1) + '\n')},
  }, 'All data of this report (JSON)')));
  page.addEventListener('decoded', ({detail: {timeline, boxes}}) =>
    files.append(makeBoxesButton(timeline, boxes)));
  return makeSection('numbers', 'Numbers', null,
      rows.length ? make('p', {}, 'The numbers of each chart stand below the chart. These are in no chart:') : null,
      rows.length ? makeNumbers('time-by-rank', 'Time by rank of plan 1', timeColumns(), () => rows) : null,
      plan?.plan.cuts?.length > 1 ? makeNumbers('stages', 'Stages of plan 1', stageColumns(),
          () => stageRows(plan.plan.cuts)) : null,
      make('h3', {}, 'Save'), files);
}
