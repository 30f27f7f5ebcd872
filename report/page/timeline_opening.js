// What a timeline shows at first: the whole step where its boxes can be read; else the warm-up and the first
// period after it, since all that follows repeats. Pure functions: nothing here knows of canvases.

// From so many CSS pixels a box on, in the mean of the fullest rank, its name can be read.
const kReadable = 16;
// Periods are looked for in so many boxes; no known schedule needs more.
const kLongestPeriod = 512;
// Air behind the period, as a share of the span.
const kAir = 0.02;

const kBackwardKinds = ['B', 'I', kPair];

/** The first box of the row whose kind is in `kinds`, or -1. */
function firstOfKinds(boxes, row, kinds) {
  for (let box = row.first; box < row.first + row.count; ++box) {
    if (kinds.has(boxes.kind[box])) return box;
  }
  return -1;
}

/** What a box does, micro-batches aside. */
function workOf(boxes, box) {
  return boxes.kind[box] * 65536 + boxes.stage[box];
}

/**
 * What repeats in the row: the work in the middle of its boxes, at most half of them, that also comes soon after
 * `from`.
 */
function steadyWork(boxes, row, from) {
  const end = row.first + row.count;
  const after = new Set();
  for (let box = from; box < Math.min(end, from + 2 * kLongestPeriod); ++box) after.add(workOf(boxes, box));
  const middle = row.first + (row.count >> 1);
  const around = Math.min(row.count >> 2, kLongestPeriod);
  const steady = new Set();
  for (let box = middle - around; box < middle + around; ++box) {
    if (after.has(workOf(boxes, box))) steady.add(workOf(boxes, box));
  }
  return steady;
}

/** Whether the `period` boxes from `from` on do the same work, micro-batches aside, as the next ones do. */
function repeats(boxes, from, period) {
  for (let box = from; box < from + period; ++box) {
    if (workOf(boxes, box) !== workOf(boxes, box + period)) return false;
  }
  return true;
}

/** Whether the boxes from `from` to before `end` do all of `work`. */
function doesAll(boxes, from, end, work) {
  const missing = new Set(work);
  for (let box = from; box < end; ++box) missing.delete(workOf(boxes, box));
  return missing.size === 0;
}

/** The box after the first period of the row that begins at `from` or later; -1 where nothing repeats. */
function endOfFirstPeriod(boxes, row, from) {
  const work = steadyWork(boxes, row, from);
  const least = Math.max(1, work.size);
  const end = Math.min(row.first + row.count, from + 2 * kLongestPeriod);
  // The end that comes first, whatever part of it is a period and what leads up to that.
  for (let after = from + least; after < end; ++after) {
    for (let period = least; period <= after - from && after + period <= end; ++period) {
      if (repeats(boxes, after - period, period) && doesAll(boxes, after - period, after, work)) return after;
    }
  }
  return -1;
}

/**
 * @param {object} timeline its entry in the page's data @param {Boxes} boxes
 * @param {number} width CSS pixels for the whole step
 * @returns {{t0: number, t1: number}} ticks
 */
function openingSpan(timeline, boxes, width) {
  const length = Math.max(1, timeline.length_ns / timeline.tick_ns);
  const whole = {t0: 0, t1: length};
  const rows = timeline.rows.filter(({lane, count}) => lane === 'compute' && count > 0);
  if (rows.every(({count}) => width >= kReadable * count)) return whole;
  const kinds = new Set(kBackwardKinds.map((kind) => boxes.kinds.indexOf(kind)));
  const starts = rows.map((row) => ({row, box: firstOfKinds(boxes, row, kinds)})).filter(({box}) => box >= 0);
  if (starts.length === 0) return whole;
  // The rank that begins its first backward last ends the warm-up; where data go both ways, an end of the pipeline.
  const latest = starts.reduce((late, one) => (boxes.start[one.box] > boxes.start[late.box] ? one : late));
  const ends = [latest, starts[0], starts[starts.length - 1]]
      .map(({row, box}) => endOfFirstPeriod(boxes, row, box)).filter((after) => after >= 0)
      .map((after) => boxes.start[after - 1] + boxes.duration[after - 1]);
  if (ends.length === 0) return whole;
  const t1 = Math.max(...ends) * (1 + kAir);
  return t1 < 0.8 * length ? {t0: 0, t1} : whole;
}
