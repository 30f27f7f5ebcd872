// Where things are on a timeline's canvas. Lengths are in CSS pixels; x of a time also depends on the window.

const kAxisHeight = 24;
const kLaneHeight = {compute: 22, sends: 10, collectives: 10};
const kGapBetweenLanes = 1;
const kGapBetweenRanks = 7;
// Many ranks get lower lanes before the view must scroll, but names stay legible as long as possible.
const kLowest = 0.5;

/**
 * @typedef {object} Lane a row of boxes on the canvas
 * @property {object} row its entry in the timeline's rows @property {number} index its position there
 * @property {number} top below the axis, before scrolling @property {number} height
 * @property {boolean} opensRank the rank's name stands here
 */

/** @returns {{lanes: Lane[], height: number}} lanes shown, made lower where they would exceed `limit` */
function layoutLanes(timeline, computeOnly, limit) {
  const shown = timeline.rows
      .map((row, index) => ({row, index}))
      .filter(({row}) => !computeOnly || row.lane === 'compute');
  const natural = placeLanes(shown, 1);
  if (natural.height <= limit) return natural;
  return placeLanes(shown, Math.max(kLowest, limit / natural.height));
}

function placeLanes(shown, factor) {
  const scaled = (length) => Math.max(1, Math.floor(length * factor));
  const lanes = [];
  let bottom = 0;
  let rank = null;
  for (const {row, index} of shown) {
    const opensRank = row.rank !== rank;
    rank = row.rank;
    const top = bottom + scaled(opensRank ? kGapBetweenRanks : kGapBetweenLanes);
    const height = scaled(kLaneHeight[row.lane]);
    lanes.push({row, index, top, height, opensRank});
    bottom = top + height;
  }
  return {lanes, height: bottom + scaled(kGapBetweenRanks)};
}

/** The lane at `y` below the axis; -1 between lanes. */
function laneAt(lanes, y) {
  return lanes.findIndex((lane) => y >= lane.top && y < lane.top + lane.height);
}

/** Room for the ranks' names; narrow windows keep more for the boxes. */
function gutterWidth(width) {
  return width < 600 ? 76 : 116;
}

/** Times between marks: 1, 2 or 5 times a power of ten, so that at most `most` marks fit into `length`. */
function niceStep(length, most) {
  const least = length / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9));
  return Math.max(1, factor * power);
}

/** Marks of the time axis, in ns, from t0 to t1. */
function axisMarks(t0, t1, most) {
  const step = niceStep(t1 - t0, most);
  const marks = [];
  for (let i = Math.ceil(t0 / step); i * step <= t1; ++i) marks.push(i * step);
  return {step, marks};
}
