// What a plan is called and what is said of it: shared by the table of plans, the charts and the comparison.

// One definition for the whole page.
const kBubbleMeans = 'share of the step in which the busiest rank is idle';

/** Every plan there is to choose from: ranked ones and baselines first, then the rest of the Pareto front. */
function allPlans(data) {
  return [...data.plans ?? [], ...data.pareto_plans ?? []];
}

/** Of `entry`, "plan 3" or what else it is called; of one of the Pareto front what differs from plan 1. */
function planName(entry) {
  if (entry.role === 'pareto') return `the plan with ${entry.title}`;
  return /^\d+$/.test(entry.title) ? `plan ${entry.title}` : entry.title;
}

/** At the start of a sentence or as a heading; the name of a file stays as it is. */
function planHeading(entry) {
  return /^\d+$/.test(entry.title) || entry.role === 'pareto' ? capitalized(planName(entry)) : entry.title;
}

function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Samples per second where the plan does not know how long a sample is. */
function throughputOf(prediction) {
  return prediction.tokens_per_s ?? prediction.samples_per_s;
}

function throughputUnit(data) {
  return allPlans(data).some((entry) => !isAbsent(entry.prediction.tokens_per_s)) ? 'tokens/s' : 'samples/s';
}

function throughputText(value) {
  return value >= 1000 ? countText(value) : fourDigits(value);
}

/** The dearest measure that all plans have: a price per million tokens, or of a step. */
function priceOf(prediction) {
  return prediction.cost_usd_per_mtok ?? prediction.cost_usd_per_step;
}

function priceUnit(data) {
  return allPlans(data).some((entry) => !isAbsent(entry.prediction.cost_usd_per_mtok)) ? '$/Mtok' : '$/step';
}

function hasPrices(data) {
  return allPlans(data).some((entry) => !isAbsent(priceOf(entry.prediction)));
}

/** Half of the interval, as a share of the step. */
function uncertaintyOf(prediction) {
  return (prediction.step_time_high_ns - prediction.step_time_low_ns) / 2 / prediction.step_time_ns;
}

/** How far below and above the step its interval reaches: "-8/+48 %". */
function intervalText(prediction) {
  const share = (bound) => Math.round(100 * Math.abs(bound - prediction.step_time_ns) / prediction.step_time_ns);
  const [below, above] = [share(prediction.step_time_low_ns), share(prediction.step_time_high_ns)];
  return below === above ? `\u00b1${above} %` : `\u2212${below}/+${above} %`;
}

function roomOf(rank) {
  return rank.capacity_bytes - rank.memory.total_bytes;
}

/** "3.8 GiB left", or by how much the limit is passed. */
function roomText(bytes) {
  return bytes < 0 ? `${bytesText(-bytes)} over` : `${bytesText(bytes)} left`;
}

/** The rank whose memory has least room; of equals the first. */
function tightestRank(prediction) {
  const ranks = prediction.ranks ?? [];
  return ranks.reduce((best, rank, index) =>
      best < 0 || roomOf(rank) < roomOf(ranks[best]) ? index : best, -1);
}

/** The rank that computes longest; of equals the first. */
function busiestRank(prediction) {
  const ranks = prediction.ranks ?? [];
  return ranks.reduce((best, rank, index) =>
      best < 0 || rank.time.busy_ns > ranks[best].time.busy_ns ? index : best, -1);
}

// Categories of memory from the bottom of a stack to its top: what does not change first. `constant` is the
// key in constant_bytes of a timeline, `total` the one of a rank's evaluation.
const kMemoryParts = [
  {name: 'parameters', constant: 'parameters', total: 'parameters_bytes'},
  {name: 'gradients', constant: 'gradients', total: 'gradients_bytes'},
  {name: 'optimizer', constant: 'optimizer_state', total: 'optimizer_state_bytes'},
  {name: 'working', constant: 'working', total: 'working_peak_bytes'},
  {name: 'buffers', constant: 'communication', total: 'communication_bytes'},
  {name: 'reserve', constant: 'reserve', total: 'reserve_bytes'},
  {name: 'activations', constant: null, total: 'stash_bytes'},
];

// What a rank spends the makespan on, in the terminal's order.
const kTimeParts = [
  {name: 'compute', key: 'busy_ns'},
  {name: 'warm-up', key: 'warm_up_ns'},
  {name: 'drain', key: 'drain_ns'},
  {name: 'imbalance', key: 'imbalance_ns'},
  {name: 'order', key: 'order_ns'},
  {name: 'transfer', key: 'transfer_ns'},
  {name: 'barrier', key: 'barrier_ns'},
];

/**
 * Neighbours with the same `key` as one: {first, last, row}. Where all ranks do the same, one row says so.
 * @param {object[]} rows by rank, from rank 0 on
 */
function foldRanks(rows, key) {
  const folds = [];
  let before = null;
  rows.forEach((row, rank) => {
    const now = key(row);
    if (folds.length > 0 && now === before) {
      folds[folds.length - 1].last = rank;
    } else {
      folds.push({first: rank, last: rank, row});
    }
    before = now;
  });
  return folds;
}

/** "PP rank 3", "PP ranks 1 to 8", or where there are no others "all PP ranks". */
function ranksWords({first, last}, ranks) {
  if (first === last) return `PP rank ${first}`;
  return first === 0 && last === ranks - 1 ? `all ${ranks} PP ranks` : `PP ranks ${first} to ${last}`;
}

/** The same in a column of ranks: 3, "1 to 8", "all". */
function ranksCell({first, last}, ranks) {
  if (first === last) return first;
  return first === 0 && last === ranks - 1 ? `all ${ranks}` : `${first} to ${last}`;
}
