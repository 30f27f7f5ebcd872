// (1) The answer, how far it can be trusted, and (9) what it rests on.

const kPriceNotes = {'$/Mtok': 'per million tokens', '$/step': 'per step'};

const kConfidence = {
  measured: {mark: '●', means: 'The compute times were measured'},
  calibrated: {mark: '◆', means: 'Measured runs corrected the predictions'},
  estimated: {mark: '○', means: 'The compute times come from datasheets: profile the model before you rely on them'},
};

/** Mark plus word: colour is never the only signal. */
function makeBadge(confidence) {
  const {mark, means} = kConfidence[confidence] ?? {mark: '?', means: 'The origin of the times is unknown'};
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

/** Beside the predicted step the measured one, where there is one. */
function makeMeasuredStep(validation) {
  if (!validation) return null;
  return makeFigureOf('Measured step',
      makeNumber(validation.measured_step_time_ns, durationText(validation.measured_step_time_ns)),
      `predicted ${errorWords(validation.error)}`);
}

function makeMfu(flops) {
  if (isAbsent(flops?.mfu)) return null;
  const teraflops = `${Number((flops.flops_per_s_and_gpu / 1e12).toPrecision(3))} TFLOP/s/GPU`;
  return makeFigureOf(make('abbr', {title: `model FLOP utilization; counts ${flops.convention}`}, 'MFU'),
      makeNumber(flops.mfu, percentText(flops.mfu)), teraflops);
}

function makeKeyFigures(data) {
  const {plan, prediction} = data.plans[0];
  const tight = tightestRank(prediction);
  const price = priceOf(prediction);
  return make('dl', {class: 'figures'},
      makeFigureOf(data.validation ? 'Predicted step' : 'Step',
          makeNumber(prediction.step_time_ns, durationText(prediction.step_time_ns)),
          `${durationText(prediction.step_time_low_ns)} to ${durationText(prediction.step_time_high_ns)}`),
      makeMeasuredStep(data.validation),
      makeFigureOf(capitalized(throughputUnit(data)),
          makeNumber(throughputOf(prediction), throughputText(throughputOf(prediction))),
          `${throughputText(throughputOf(prediction) / plan.devices)} per GPU`),
      makeMfu(data.verdict.flops),
      tight < 0 ? null : makeFigureOf('Peak memory',
          makeNumber(prediction.ranks[tight].memory.total_bytes,
              bytesText(prediction.ranks[tight].memory.total_bytes)),
          `PP rank ${tight}, of ${bytesText(prediction.ranks[tight].capacity_bytes)}`),
      isAbsent(prediction.bubble_rate_makespan) ? null : makeFigureOf('Bubble',
          makeNumber(prediction.bubble_rate_makespan, percentText(prediction.bubble_rate_makespan)),
          'idle time, busiest rank'),
      isAbsent(price) ? null
          : makeFigureOf(priceUnit(data), makeNumber(price, dollarsText(price)), kPriceNotes[priceUnit(data)]),
      makeFigureOf('GPUs', makeNumber(plan.devices, countText(plan.devices))));
}

/** Of the same level as a section's, so that none is left out below the h1; it looks like a smaller one. */
function makeMinorHeading(text) {
  return make('h2', {class: 'minor'}, text);
}

/** What was asked, without the model's name that stands above it; and what is said of the inputs. */
function questionWords(data) {
  const [asked = '', ...origin] = (data.question?.words ?? '').split('; ');
  const start = `${data.model} on `;
  return [asked.startsWith(start) ? `On ${asked.slice(start.length)}` : asked, ...origin];
}

function makeNotes(data) {
  return (data.question?.notes ?? []).map((note) => make('p', {class: 'remark'}, capitalized(note)));
}

/** The prediction rests on these; so does every figure of the page. */
function assumptionsSection(data) {
  const {assumptions = [], not_searched: notSearched = [], not_modelled: notModelled = []} = data;
  const [, ...origin] = questionWords(data);
  const notes = data.timelines?.length ? makeNotes(data) : [];
  if (assumptions.length + notes.length + notSearched.length + notModelled.length + origin.length === 0) return null;
  const columns = [
    {key: 'text', title: 'Assumption', class: 'prose', value: (assumption) => assumption.text},
    {key: 'share', title: 'Share of compute time', numeric: true, text: percentText,
     value: (assumption) => assumption.share || null},
  ];
  return makeSection('assumptions', 'Assumptions', null,
      origin.length > 0 ? make('p', {}, `${capitalized(origin.join('; '))}.`) : null, notes,
      notModelled.length > 0 ? make('p', {}, `Not modelled: ${notModelled.join('; ')}.`) : null,
      assumptions.length === 0 ? null : make('details', {},
          make('summary', {}, `The prediction rests on ${countOf(assumptions.length, 'assumption')}`),
          makeTable('Assumptions, and the share of the busiest rank\'s compute time that each touches', columns,
              assumptions, {sortable: true})),
      notSearched.length === 0 ? null : make('details', {}, make('summary', {}, 'What the search does not cover'),
          make('ul', {}, notSearched.map((text) => make('li', {}, text)))));
}

function verdictSection(data) {
  const verdict = data.verdict ?? {};
  return make('section', {id: 'verdict', 'aria-labelledby': 'verdict-heading'},
      make('h1', {id: 'verdict-heading'}, data.model),
      data.question?.words ? make('p', {class: 'muted question'}, questionWords(data)[0]) : null,
      make('p', {class: 'verdict'}, withUnits(verdict.text ?? '')),
      data.validation ? make('p', {class: 'verdict-measured'}, validationLead(data.validation)) : null,
      verdict.confidence ? makeBadge(verdict.confidence) : null,
      data.not_modelled ? make('p', {class: 'not-modelled'}, `Not modelled: ${data.not_modelled.join('; ')}.`) : null,
      data.plans?.length ? makeKeyFigures(data) : null,
      // Where no step is drawn, they say why.
      data.timelines?.length ? null : makeNotes(data));
}
