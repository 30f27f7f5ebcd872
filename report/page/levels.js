// Level of detail: what share of every pixel column the boxes of a row cover, which box is where, and which
// boxes a text means. Pure functions of typed arrays: nothing here knows of canvases.

// From this width on, in columns, a box is a rectangle of its own.
const kWide = 2;

/**
 * @typedef {{t0: number, t1: number, columns: number}} Window ticks from t0 to t1 over so many columns
 * @typedef {{first: number, count: number}} Row its boxes are consecutive, ascend and do not overlap
 */

/** The first box of the row that ends after `tick`; first + count where none does. */
function firstEndingAfter(boxes, row, tick) {
  let low = row.first;
  let high = row.first + row.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (boxes.start[middle] + boxes.duration[middle] > tick) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** The box of the row that runs at `tick`, or -1. */
function boxAt(boxes, row, tick) {
  const box = firstEndingAfter(boxes, row, tick);
  return box < row.first + row.count && boxes.start[box] <= tick ? box : -1;
}

/** The box of the row that runs at `tick`; else the nearest one within `slack` ticks, or -1. */
function boxNear(boxes, row, tick, slack) {
  if (row.count === 0) return -1;
  const next = firstEndingAfter(boxes, row, tick);
  const gapAfter = next < row.first + row.count ? Math.max(0, boxes.start[next] - tick) : Infinity;
  const gapBefore = next > row.first ? tick - (boxes.start[next - 1] + boxes.duration[next - 1]) : Infinity;
  if (Math.min(gapBefore, gapAfter) > slack) return -1;
  return gapBefore < gapAfter ? next - 1 : next;
}

/** Coverage of one row: share[column * kinds + kind], and the whole columns of wide boxes apart. */
class Cover {
  constructor(columns, kinds) {
    this.columns = columns;
    this.kinds = kinds;
    this.share = new Float64Array(columns * kinds);
    this.runs = [];  // {box, from, to}: the box alone covers these columns, from <= column < to
  }

  clear() {
    this.share.fill(0);
    this.runs.length = 0;
  }
}

/**
 * Adds the boxes of `row` to `cover`, exactly: a box from column 10.5 to 11.75 adds 0.5 to column 10 and 0.75
 * to column 11. Of a wide box the whole columns become a run; its ragged ends are added like any other part.
 * It walks over all boxes in sight, for some 10 ns each: a million of them need no pyramid of sums.
 */
function coverRow(boxes, row, window, cover) {
  const {start, duration, kind} = boxes;
  const {share, kinds, columns} = cover;
  const scale = columns / (window.t1 - window.t0);
  const end = row.first + row.count;
  for (let box = firstEndingAfter(boxes, row, window.t0); box < end && start[box] < window.t1; ++box) {
    const from = Math.max(0, (start[box] - window.t0) * scale);
    const to = Math.min(columns, (start[box] + duration[box] - window.t0) * scale);
    const first = from | 0;  // the floor, of what is neither negative nor large
    const last = to | 0;
    if (first === last) {
      share[first * kinds + kind[box]] += to - from;
      continue;
    }
    let whole = first;  // the first whole column
    if (from > first) {
      share[first * kinds + kind[box]] += first + 1 - from;
      ++whole;
    }
    if (to > last) share[last * kinds + kind[box]] += to - last;
    if (to - from >= kWide) {
      if (whole < last) cover.runs.push({box, from: whole, to: last});
    } else if (whole < last) {
      share[whole * kinds + kind[box]] += 1;
    }
  }
}

/** Shares of the kinds in the time from t0 to t1, in the mean of the rows; what is left to 1 is idle. */
function sharesOfKinds(boxes, rows, kinds, t0, t1) {
  const cover = new Cover(1, kinds);
  const sums = new Float64Array(kinds);
  for (const row of rows) {
    cover.clear();
    coverRow(boxes, row, {t0, t1, columns: 1}, cover);
    cover.share.forEach((share, kind) => sums[kind] += share / rows.length);
  }
  return sums;
}
