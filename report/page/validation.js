// (10) Predicted against measured.

const kWorstActions = 10;

/** (predicted - measured) / measured; negative: predicted too short. */
function errorOf(predicted, measured) {
  return measured > 0 ? (predicted - measured) / measured : null;
}

function errorColumn(predicted, measured) {
  return {key: 'error', title: 'Error', abbreviates: '(predicted - measured) / measured', numeric: true,
          text: (value) => signedText(value, percentText), value: (row) => errorOf(row[predicted], row[measured])};
}

function timeColumn(key, title) {
  return {key, title, numeric: true, text: durationText, value: (row) => row[key]};
}

function kindColumns() {
  return [
    {key: 'action', title: 'Action', value: (row) => `${row.stage}${row.kind}`},
    {key: 'count', title: 'Per step', numeric: true, text: countText, value: (row) => row.count},
    timeColumn('predicted_ns', 'Predicted'), timeColumn('measured_ns', 'Measured'),
    timeColumn('fastest_ns', 'Least'), timeColumn('slowest_ns', 'Most'),
    errorColumn('predicted_ns', 'measured_ns'),
    {key: 'error_bar', title: 'Too short | too long', value: (row) => errorOf(row.predicted_ns, row.measured_ns),
     node: makeErrorBar},
  ];
}

/** A bar to the left where the prediction is too short, to the right where it is too long; 50 % at most. */
function makeErrorBar(error) {
  const length = Math.min(0.5, Math.abs(error)) * 100;
  const left = error < 0 ? 50 - length : 50;
  return make('span', {class: 'error-bar', 'aria-hidden': 'true'},
      make('span', {style: `left: ${left}%; width: ${length}%`}));
}

function rankColumns() {
  const renamed = (column, key, title) => ({...column, key, title});
  return [
    {key: 'rank', title: 'Rank', value: (row) => row.rank},
    timeColumn('predicted_busy_ns', 'Computes, predicted'), timeColumn('measured_busy_ns', 'measured'),
    renamed(errorColumn('predicted_busy_ns', 'measured_busy_ns'), 'busy_error', 'Error'),
    timeColumn('predicted_end_ns', 'Ends, predicted'), timeColumn('measured_end_ns', 'measured'),
    renamed(errorColumn('predicted_end_ns', 'measured_end_ns'), 'end_error', 'Error'),
  ];
}

function shiftOfAction(row) {
  return row.measured_end_ns - row.predicted_end_ns;
}

function actionColumns() {
  return [
    {key: 'action', title: 'Action', value: (row) => row.action},
    {key: 'rank', title: 'Rank', numeric: true, text: countText, value: (row) => row.rank},
    timeColumn('predicted_start_ns', 'Predicted from'), timeColumn('predicted_end_ns', 'to'),
    timeColumn('measured_start_ns', 'Measured from'), timeColumn('measured_end_ns', 'to'),
    {key: 'shift_ns', title: 'Ends later by', numeric: true, text: (value) => signedText(value, durationText),
     value: shiftOfAction},
  ];
}

function makePass(validation) {
  const passes = validation.holds;
  return make('p', {class: 'badge-line'},
      make('span', {class: `badge badge-${passes ? 'good' : 'bad'}`},
          make('span', {'aria-hidden': 'true'}, passes ? '✓' : '✗'), passes ? ' pass' : ' fail'),
      ` The error is ${passes ? 'within' : 'beyond'} the tolerance of ${percentText(validation.tolerance)}.`);
}

/** "4.8 % too short" */
function errorWords(error) {
  return error === 0 ? 'exactly' : `${percentText(Math.abs(error))} too ${error < 0 ? 'short' : 'long'}`;
}

function validationLead(validation) {
  const {predicted_step_time_ns: predicted, measured_step_time_ns: measured, error} = validation;
  const steps = validation.steps === 1 ? '1 step' : `median of ${countOf(validation.steps, 'step')}`;
  const distance = error === 0 ? 'The prediction is exact' : `The prediction is ${errorWords(error)}`;
  return `Measured ${durationText(measured)} a step (${steps}), predicted ${durationText(predicted)}. ${distance}.`;
}

function warmUpWords(steps) {
  if (steps === 0) return 'No step was left out as warm-up.';
  return `The first ${steps === 1 ? 'step was' : `${steps} steps were`} left out as warm-up.`;
}

function makeActions(validation) {
  if (!validation.actions?.length) return null;
  const rows = [...validation.actions].sort((a, b) => Math.abs(shiftOfAction(b)) - Math.abs(shiftOfAction(a)));
  return [make('h3', {}, 'The actions that are farthest off'),
    makeTable('The actions that are farthest off', actionColumns(), rows.slice(0, kWorstActions),
        {sortable: true}),
    makeNumbers('actions', 'All actions', actionColumns(), () => rows)];
}

function makeComparisonTable(title, name, columns, rows) {
  if (!rows?.length) return null;
  return [make('h3', {}, title), makeTable(title, columns, rows, {sortable: true}),
    makeSaveButtons(name, columns.filter(({key}) => key !== 'error_bar'), rows)];
}

function validationSection(data) {
  const {validation} = data;
  if (!validation) return null;
  return makeSection('validation', 'Predicted against measured', validationLead(validation),
      makePass(validation),
      make('p', {class: 'muted'}, `The steps took ${durationText(validation.fastest_ns)} to ` +
          `${durationText(validation.slowest_ns)}. ${warmUpWords(validation.warm_up_steps)}`),
      makeComparisonTable('By kind of action', 'kinds', kindColumns(), validation.kinds),
      makeComparisonTable('By rank', 'validation-ranks', rankColumns(), validation.ranks),
      makeActions(validation));
}
