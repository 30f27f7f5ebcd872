// Curves by uPlot, in the colours of the page. A chart says its finding in words, and its numbers stand
// in a table next to it.

const kNoCurves = 'This build was made without uPlot: the numbers are in the tables.';
const kHasCurves = typeof uPlot !== 'undefined';
const kCharts = new Set();

/** The value of a custom property, such as "--text", in the theme of now. */
function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function chartFont() {
  return `12px ${getComputedStyle(document.body).fontFamily}`;
}

/**
 * Of a long curve what can be seen: of the points of each of `columns` equal spans of time the first, the
 * last, the least and the greatest, in their order. Extremes survive; the shape at this width does not
 * change.
 */
function decimate(times, values, columns) {
  if (times.length <= 4 * columns) return {times: Array.from(times), values: Array.from(values)};
  const begin = times[0];
  const span = times[times.length - 1] - begin || 1;
  const columnOf = (index) => Math.min(columns - 1, Math.floor((times[index] - begin) / span * columns));
  const kept = [];
  for (let first = 0; first < times.length;) {
    const column = columnOf(first);
    let least = first;
    let greatest = first;
    let end = first;
    for (; end < times.length && columnOf(end) === column; ++end) {
      if (values[end] < values[least]) least = end;
      if (values[end] > values[greatest]) greatest = end;
    }
    kept.push(...new Set([first, least, greatest, end - 1].sort((a, b) => a - b)));
    first = end;
  }
  return {times: kept.map((index) => times[index]), values: kept.map((index) => values[index])};
}

/** A plot that is drawn again when its width or the theme changes. */
class Chart {
  /** `draw(width)` -> {options, data} of uPlot. */
  constructor(finding, draw) {
    this.draw = draw;
    this.plot = null;
    this.width = 0;
    this.holder = make('div', {class: 'chart', role: 'img', 'aria-label': finding});
    kCharts.add(this);
    new ResizeObserver(() => this.holder.clientWidth !== this.width && this.paint())
        .observe(this.holder);
  }

  paint() {
    if (!this.holder.isConnected || this.holder.clientWidth === 0) return;
    this.width = this.holder.clientWidth;
    this.plot?.destroy();
    const {options, data} = this.draw(this.width);
    this.plot = new uPlot({width: this.width, legend: {show: false}, ...options}, data, this.holder);
  }
}

function paintCharts() {
  for (const chart of kCharts) {
    if (chart.holder.isConnected) chart.paint();
  }
}

/** Charts that were replaced are not painted again. */
function forgetChartsOf(container) {
  for (const chart of kCharts) {
    if (container.contains(chart.holder)) {
      chart.plot?.destroy();
      kCharts.delete(chart);
    }
  }
}

/** [{name, colour: "--property", hollow?}] as a list with swatches. */
function makeLegend(entries) {
  return make('ul', {class: 'legend'}, entries.map(({name, colour, hollow, line}) =>
      make('li', {}, make('span', {
        class: `swatch${hollow ? ' hollow' : ''}${line ? ' line' : ''}`,
        style: `--swatch: var(${colour})`, 'aria-hidden': 'true',
      }), name)));
}

/** The chart with its finding, legend and what the pointer is on; or the sentence why there is none. */
function makeFigure({finding, draw, legend, readout}) {
  if (!kHasCurves) {
    return make('figure', {}, make('figcaption', {}, finding), make('p', {class: 'no-curves'}, kNoCurves));
  }
  const line = make('p', {class: 'readout', 'aria-hidden': 'true'}, readout ?? kNoBreak);
  const say = (text) => { line.textContent = text ?? readout ?? kNoBreak; };
  const chart = new Chart(finding, (width) => draw(width, say));
  return make('figure', {}, make('figcaption', {}, finding), legend ? makeLegend(legend) : null,
      chart.holder, line);
}

/** An axis in the page's colours; `text` says a value in words. */
function makeAxis(label, text, options = {}) {
  const grid = {stroke: themeColour('--line'), width: 1};
  return {
    label, labelFont: chartFont(), font: chartFont(), size: 30, labelSize: 20, labelGap: 0,
    stroke: themeColour('--muted'), grid, ticks: {...grid, size: 5},
    // Logarithmic axes leave out the marks for which there is no room: those are null.
    values: (plot, splits) => splits.map((value) => (value === null ? '' : text(value))),
    ...options,
  };
}

/**
 * A label to the right or the left of a point, inside the plotting area. Where it would lie on one of `taken`
 * either way, it is left out: the pointer still names the point.
 */
function drawLabel(plot, text, x, y, colour, taken = []) {
  const {ctx, bbox} = plot;
  const gap = 8 * devicePixelRatio;
  ctx.save();
  ctx.font = chartFont().replace('12px', `${12 * devicePixelRatio}px`);
  ctx.fillStyle = colour;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  const width = ctx.measureText(text).width;
  const middle = Math.max(y, bbox.top + gap);
  const isFree = (left) => left >= bbox.left && left + width <= bbox.left + bbox.width &&
      taken.every((box) => left > box.right || left + width < box.left || Math.abs(middle - box.middle) > 1.5 * gap);
  const left = [x + gap, x - gap - width].find(isFree);
  if (left !== undefined) {
    // Over lines of the plot, too, it can be read.
    ctx.strokeStyle = themeColour('--page');
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.lineJoin = 'round';
    ctx.strokeText(text, left, middle);
    ctx.fillText(text, left, middle);
    taken.push({left, right: left + width, middle});
  }
  ctx.restore();
}

function drawDot(plot, x, y, radius, fill, stroke) {
  const {ctx} = plot;
  ctx.save();
  ctx.beginPath();
  ctx.arc(x, y, radius * devicePixelRatio, 0, 2 * Math.PI);
  ctx.fillStyle = fill;
  ctx.strokeStyle = stroke;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.fill();
  ctx.stroke();
  ctx.restore();
}

/** A dashed horizontal line across the plot, named at its left end. */
function drawLimit(plot, value, text) {
  const {ctx, bbox} = plot;
  const y = plot.valToPos(value, 'y', true);
  ctx.save();
  ctx.strokeStyle = themeColour('--bad');
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
  drawLabel(plot, text, bbox.left, y - 9 * devicePixelRatio, themeColour('--bad'));
}
