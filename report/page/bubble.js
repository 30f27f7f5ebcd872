// (6) What the busiest rank spends the step on, and what each part could give back.

/** Parts in the order of the data; a step that would be that much shorter, as a share of the step. */
function partRows(data) {
  const makespan = data.parts.reduce((sum, part) => sum + part.time_ns, 0);
  return data.parts.map((part) => ({
    ...part,
    gain: isAbsent(part.step_time_if_zero_ns) || part.step_time_if_zero_ns <= 0
        ? null : makespan / part.step_time_if_zero_ns - 1,
  }));
}

function makePartsBar(rows) {
  return make('div', {class: 'parts-bar'}, rows.filter((row) => row.time_ns > 0).map((row) =>
      make('span', {class: 'segment', title: `${row.part}: ${percentText(row.share)}`,
                    style: `width: ${100 * row.share}%; --segment: var(--time-${row.part})`})));
}

function partColumns() {
  return [
    {key: 'part', title: 'Part', value: (row) => row.part,
     node: (value) => [make('span', {class: 'swatch', style: `--swatch: var(--time-${value})`,
                                     'aria-hidden': 'true'}), value]},
    {key: 'time_ns', title: 'Time', numeric: true, text: durationText, value: (row) => row.time_ns},
    {key: 'share', title: 'Share', numeric: true, text: percentText, value: (row) => row.share},
    {key: 'gain', title: 'Speed-up if zero', abbreviates: 'at most so much faster without this part', numeric: true,
     text: (value) => signedText(value, percentText),
     // Without its compute a step is nothing: no gain to speak of.
     value: (row) => (row.part === 'compute' ? null : row.gain)},
    {key: 'meaning', title: 'Meaning', class: 'prose', value: (row) => row.meaning},
  ];
}

function makeChanges(data) {
  if (!data.changes?.length) return null;
  const greatest = Math.max(...data.changes.map((change) => change.gain), 0.001);
  const columns = [
    {key: 'change', title: 'If', class: 'prose', value: (row) => row.change},
    {key: 'step_time_ns', title: 'Step', numeric: true, text: durationText, value: (row) => row.step_time_ns},
    {key: 'gain', title: 'Saves', numeric: true, text: (value) => signedText(value, percentText),
     value: (row) => row.gain},
    {key: 'bar', title: 'Of the step', value: (row) => row.gain,
     node: (value) => make('span', {class: 'inline-bar', 'aria-hidden': 'true',
                                    style: `width: ${100 * Math.max(0, value) / greatest}%`})},
  ];
  return [make('h3', {}, 'What if: the step replayed with one change'),
    makeTable('What-if', columns, data.changes, {sortable: true}),
    makeSaveButtons('what-if', columns.slice(0, 3), data.changes)];
}

function idleShare(rows) {
  return rows.reduce((sum, row) => sum + row.share, 0);
}

function bubbleSection(data) {
  if (!data.parts?.length) return null;
  const rows = partRows(data);
  const idle = rows.filter((row) => row.part !== 'compute');
  const worst = idle.reduce((best, row) => (row.time_ns > best.time_ns ? row : best), idle[0]);
  const lead = worst?.time_ns > 0
      ? `The bubble, the ${kBubbleMeans}, is ${percentText(idleShare(idle))}. Its largest part: ${worst.part}, ` +
        `${durationText(worst.time_ns)}, ${percentText(worst.share)} of the step.`
      : 'The busiest rank is never idle: there is no bubble.';
  return makeSection('time', 'Where the time goes', lead,
      make('div', {role: 'img', 'aria-label': `Parts of the step. ${lead}`}, makePartsBar(rows)),
      makeTable('Parts of the step of the busiest rank', partColumns(), rows, {sortable: true}),
      makeSaveButtons('parts', partColumns(), rows),
      makeChanges(data));
}
