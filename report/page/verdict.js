// (1) The answer, how far it can be trusted, and what it was made from.

const kConfidence = {
  measured: {mark: '●', means: 'compute times come from measurements'},
  calibrated: {mark: '◆', means: 'predictions were corrected by measured runs'},
  estimated: {mark: '○', means: 'compute times come from datasheets; profile before you rely on them'},
};

/** Mark plus word: colour is never the only signal. */
function makeBadge(confidence) {
  const {mark, means} = kConfidence[confidence] ?? {mark: '?', means: 'of unknown origin'};
  return make('p', {class: 'badge-line'},
      make('span', {class: `badge badge-${kConfidence[confidence] ? confidence : 'unknown'}`},
          make('span', {'aria-hidden': 'true'}, mark), ` ${confidence}`),
      ` ${means}.`);
}

/** Where the browser gives no clipboard (an old one, from file://), the text is selected and copied. */
async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(shown);
    return document.execCommand('copy');
  }
}

/** A command that can be copied. */
function makeCommand(command, label) {
  const code = make('code', {}, command);
  const button = make('button', {type: 'button', class: 'copy', 'aria-label': `Copy: ${label}`}, 'Copy');
  button.addEventListener('click', async () => {
    const copied = await copyText(command, code);
    button.textContent = copied ? 'Copied' : 'Press Ctrl-C';
    announce(copied ? 'Copied' : 'Selected: press Ctrl-C to copy');
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return make('div', {class: 'command'}, make('pre', {tabindex: '0', 'aria-label': label}, code), button);
}

function makeFigureOf(name, value, note) {
  return make('div', {}, make('dt', {}, name), make('dd', {}, value),
      note ? make('dd', {class: 'note'}, note) : null);
}

function makeKeyFigures(data) {
  const {plan, prediction} = data.plans[0];
  const tight = tightestRank(prediction);
  const price = priceOf(prediction);
  return make('dl', {class: 'figures'},
      makeFigureOf('Step', makeNumber(prediction.step_time_ns, durationText(prediction.step_time_ns)),
          `${durationText(prediction.step_time_low_ns)} to ${durationText(prediction.step_time_high_ns)}`),
      makeFigureOf(capitalized(throughputUnit(data)),
          makeNumber(throughputOf(prediction), throughputText(throughputOf(prediction)))),
      tight < 0 ? null : makeFigureOf('Peak memory',
          makeNumber(prediction.ranks[tight].memory.total_bytes,
              bytesText(prediction.ranks[tight].memory.total_bytes)),
          `rank ${tight}, of ${bytesText(prediction.ranks[tight].capacity_bytes)}`),
      isAbsent(prediction.bubble_rate_makespan) ? null : makeFigureOf('Bubble',
          makeNumber(prediction.bubble_rate_makespan, percentText(prediction.bubble_rate_makespan))),
      isAbsent(price) ? null
          : makeFigureOf(priceUnit(data).replace('$/', 'Price per '), makeNumber(price, dollarsText(price))),
      makeFigureOf('GPUs', makeNumber(plan.devices, countText(plan.devices))));
}

/** Of the same level as a section's, so that none is left out below the h1; it looks like a smaller one. */
function makeMinorHeading(text) {
  return make('h2', {class: 'minor'}, text);
}

function makeOrigins(data) {
  const columns = [
    {key: 'role', title: 'Input', value: (input) => input.role},
    {key: 'path', title: 'File', class: 'path', value: (input) => input.path},
    {key: 'hash', title: 'Hash', class: 'path', value: (input) => input.hash},
  ];
  return [makeMinorHeading('Made from'),
    data.inputs?.length ? makeTable('Inputs', columns, data.inputs) : null,
    make('p', {class: 'muted'}, `By ${data.tool}; the same files and command give the same numbers.`)];
}

function makeAssumptions(data) {
  if (!data.assumptions?.length) return null;
  const columns = [
    {key: 'text', title: 'Assumption', class: 'prose', value: (assumption) => assumption.text},
    {key: 'share', title: 'Share of compute time', numeric: true, text: percentText,
     value: (assumption) => assumption.share || null},
  ];
  return make('details', {}, make('summary', {},
      `What the prediction rests on: ${countOf(data.assumptions.length, 'assumption')}`),
  makeTable('Assumptions, and the share of the busiest rank\'s compute time that each touches', columns,
      data.assumptions, {sortable: true}));
}

function makeNotSearched(data) {
  if (!data.not_searched?.length) return null;
  return make('details', {}, make('summary', {}, 'What was not searched'),
      make('ul', {}, data.not_searched.map((text) => make('li', {}, text))));
}

function verdictSection(data) {
  const verdict = data.verdict ?? {};
  return make('section', {id: 'verdict', 'aria-labelledby': 'verdict-heading'},
      make('h1', {id: 'verdict-heading'}, data.model),
      data.question?.words ? make('p', {class: 'muted question'}, data.question.words) : null,
      make('p', {class: 'verdict'}, verdict.text),
      verdict.confidence ? makeBadge(verdict.confidence) : null,
      data.plans?.length ? makeKeyFigures(data) : null,
      (data.question?.notes ?? []).map((note) => make('p', {class: 'remark'}, note)),
      verdict.apply_command
          ? [makeMinorHeading('To run it'), makeCommand(verdict.apply_command, 'the command that runs it')] : null,
      makeMinorHeading('This report again'),
      makeCommand(data.command, 'the command of this report'),
      makeOrigins(data), makeAssumptions(data), makeNotSearched(data));
}
