// Paints a timeline onto a canvas. Boxes are painted by coverage (levels.js) as pixels: a column's colour is its
// busy share, so bubbles stay visible at any zoom. Text, marks and the critical path follow on top.

const kNameSize = 11;
const kNameFont = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
const kTextFont = 'system-ui, sans-serif';
// From this width on, in device pixels, a box shows where it begins.
const kEdged = 5;
// From this width on, in CSS pixels, a box of the critical path has an outline; narrower ones only get lines
// above and below, which leave their colours to be seen.
const kOutlined = 14;

/**
 * @typedef {object} Scene what a painter needs to know of the moment
 * @property {Window} window without `columns`, which the canvas decides @property {number} length of the step
 * @property {Lane[]} lanes @property {number} width @property {number} height of the canvas, CSS pixels
 * @property {number} ratio device pixels per CSS pixel @property {number} scroll CSS pixels above the view
 * @property {Colours} colours
 * @property {?Uint32Array} path boxes of the critical path by time, or null where it is not shown
 * @property {Uint32Array} hits of a search @property {number} selected @property {number} hovered kNoBox
 * @property {?{t0: number, t1: number}} range
 */
class TimelinePainter {
  constructor(canvas, timeline, boxes) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', {alpha: false});
    this.timeline = timeline;
    this.boxes = boxes;
    this.image = null;
    this.cover = null;
  }

  /** @param {Scene} scene */
  paint(scene) {
    this.scene = scene;
    this.fitCanvas();
    const {context, canvas} = this;
    context.fillStyle = scene.colours.ground.css;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const visible = scene.lanes.filter(
        ({top, height}) => top + height > scene.scroll && this.yOf(top) < canvas.height);
    const runs = this.paintCoverage(visible);
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.columns, canvas.height - this.top);
    context.clip();
    this.paintNames(runs);
    if (scene.path) this.paintPath(visible);
    this.paintRange();
    for (const [box, width] of [[scene.hovered, 1], [scene.selected, 2]]) this.outline(box, visible, width);
    context.restore();
    this.paintAxis();
    this.paintGutter(visible);
  }

  fitCanvas() {
    const {width, height, ratio} = this.scene;
    this.left = Math.round(gutterWidth(width) * ratio);
    this.top = Math.round(kAxisHeight * ratio);
    const wide = Math.max(this.left + 1, Math.round(width * ratio));
    const high = Math.max(this.top + 1, Math.round(height * ratio));
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    this.columns = wide - this.left;
    const {t0, t1} = this.scene.window;
    this.window = {t0, t1, columns: this.columns};
  }

  /** Device pixels of a time and of a height below the axis. */
  xOf(tick) {
    const {t0, t1, columns} = this.window;
    return this.left + (tick - t0) * columns / (t1 - t0);
  }
  yOf(top) {
    return this.top + Math.round((top - this.scene.scroll) * this.scene.ratio);
  }
  heightOf(lane) {
    return this.yOf(lane.top + lane.height) - this.yOf(lane.top);
  }

  /** @returns {{lane: Lane, box: number, from: number, to: number}[]} the wide boxes */
  paintCoverage(visible) {
    const {columns, canvas, timeline, boxes, scene} = this;
    const height = canvas.height - this.top;
    if (this.image?.width !== columns || this.image.height !== height) {
      this.image = this.context.createImageData(columns, height);
    }
    if (this.cover?.columns !== columns) this.cover = new Cover(columns, timeline.kinds.length);
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(scene.colours.ground.packed);
    this.paintGrid(pixels);
    const wide = [];
    for (const lane of visible) {
      this.cover.clear();
      coverRow(boxes, lane.row, this.window, this.cover);
      this.paintLane(lane, pixels);
      for (const run of this.cover.runs) wide.push({lane, ...run});
    }
    this.context.putImageData(this.image, this.left, this.top);
    return wide;
  }

  // Behind the lanes: a line across them would be taken for a gap.
  paintGrid(pixels) {
    this.axis = this.axisOfWindow();
    for (const mark of this.axis.marks) {
      const column = Math.round(this.xOf(mark / this.timeline.tick_ns)) - this.left;
      if (column >= this.columns) continue;
      for (let i = column; i < pixels.length; i += this.columns) pixels[i] = this.scene.colours.grid.packed;
    }
  }

  axisOfWindow() {
    const {t0, t1, columns} = this.window;
    const tick = this.timeline.tick_ns;
    return axisMarks(t0 * tick, t1 * tick, columns / (120 * this.scene.ratio));
  }

  // All lines of a lane are alike: one is mixed and then copied. Wide boxes are filled in the same line, which
  // costs less than rectangles of the canvas and leaves the share of their ends as it is.
  paintLane(lane, pixels) {
    const {columns, scene} = this;
    const y = this.yOf(lane.top) - this.top;
    const first = Math.max(0, y);
    const end = Math.min(this.image.height, y + this.heightOf(lane));
    if (first >= end) return;
    const at = first * columns;
    mixColumns(this.cover, scene.colours, pixels, at);
    for (const {box, from, to} of this.cover.runs) {
      const kind = this.boxes.kind[box];
      pixels.fill(scene.colours.kinds[kind].packed, at + from, at + to);
      if (to - from >= kEdged && this.xOf(this.boxes.start[box]) >= this.left) {
        pixels[at + from] = scene.colours.edges[kind];
      }
    }
    const ended = Math.ceil(this.xOf(scene.length)) - this.left;
    if (ended < columns) pixels.fill(scene.colours.ground.packed, at + Math.max(0, ended), at + columns);
    for (let line = first + 1; line < end; ++line) pixels.copyWithin(line * columns, at, at + columns);
  }

  paintNames(runs) {
    const {context, boxes, timeline} = this;
    const {ratio, colours} = this.scene;
    context.font = `${kNameSize * ratio}px ${kNameFont}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const letter = context.measureText('0').width;
    for (const ink of ['#000', '#fff']) {
      context.fillStyle = ink;
      for (const {lane, box, from, to} of runs) {
        if (colours.ink[boxes.kind[box]] !== ink || to - from < 3 * letter) continue;
        if (lane.height < kNameSize + 1) continue;
        const name = shortBoxName(timeline, boxes, box);
        if (to - from < name.length * letter + 2 * ratio) continue;
        context.fillText(name, this.left + (from + to) / 2, this.yOf(lane.top) + this.heightOf(lane) / 2);
      }
    }
  }

  /** Outlines of the path's boxes, and lines from the end of each to the start of the next one shown. */
  paintPath(visible) {
    const {context, boxes, scene} = this;
    const lanes = new Map(scene.lanes.map((lane) => [lane.index, lane]));
    const seen = new Set(visible);
    const outlines = new Path2D();
    const links = new PathLinks();
    const painted = new Map();  // per lane: up to where its line is painted
    let previous = null;
    for (const box of scene.path) {
      const lane = lanes.get(boxes.row[box]);
      if (!lane) continue;
      const here = {from: this.xOf(boxes.start[box]), to: this.xOf(boxes.start[box] + boxes.duration[box]),
                    y: this.yOf(lane.top) + this.heightOf(lane) / 2};
      if (previous && here.from >= this.left && previous.to <= this.canvas.width) {
        links.add(previous.to, previous.y, here.from, here.y);
      }
      previous = here;
      if (seen.has(lane) && here.to > this.left && here.from < this.canvas.width) {
        this.addToPath(outlines, lane, here, painted);
      }
      if (here.from > this.canvas.width) break;
    }
    links.end();
    context.strokeStyle = scene.colours.path.css;
    context.lineWidth = Math.max(1, 1.5 * scene.ratio);
    context.stroke(links.path);
    context.lineWidth = Math.max(2, 2 * scene.ratio);
    context.stroke(outlines);
  }

  addToPath(outlines, lane, {from, to}, painted) {
    const top = this.yOf(lane.top) + 1;
    const height = this.heightOf(lane) - 2;
    if (to - from >= kOutlined * this.scene.ratio) {
      // Kept near the canvas: far outside, a line's ends lose their precision.
      const left = Math.max(from, this.left - 9) + 1;
      outlines.rect(left, top, Math.min(to, this.canvas.width + 9) - 1 - left, height);
      return;
    }
    const end = Math.ceil(to);
    const begin = Math.max(Math.floor(from), painted.get(lane) ?? 0);
    if (end <= begin) return;
    painted.set(lane, end);
    for (const y of [top, top + height]) {
      outlines.moveTo(begin, y);
      outlines.lineTo(end, y);
    }
  }

  paintRange() {
    const {range, colours, ratio} = this.scene;
    if (!range) return;
    const {context, canvas} = this;
    const from = this.xOf(range.t0);
    const to = this.xOf(range.t1);
    context.globalAlpha = 0.16;
    context.fillStyle = colours.mark.css;
    context.fillRect(from, this.top, to - from, canvas.height);
    context.globalAlpha = 1;
    const line = Math.max(1, Math.round(ratio));
    for (const x of [from, to]) {
      context.fillRect(Math.round(x - line / 2), this.top, line, canvas.height);
    }
  }

  outline(box, visible, width) {
    const lane = box === kNoBox ? null : visible.find(({index}) => index === this.boxes.row[box]);
    if (!lane) return;
    const {context, scene, boxes} = this;
    const from = this.xOf(boxes.start[box]);
    const to = Math.max(from + 2 * scene.ratio, this.xOf(boxes.start[box] + boxes.duration[box]));
    const left = Math.max(from, this.left - 9);
    context.strokeStyle = scene.colours.text.css;
    context.lineWidth = width * scene.ratio;
    const wide = Math.min(to, this.canvas.width + 9) - left;
    context.strokeRect(left, this.yOf(lane.top), wide, this.heightOf(lane));
  }

  paintAxis() {
    const {context, scene, timeline, canvas} = this;
    const {colours, ratio} = scene;
    const {step, marks} = this.axis;
    context.font = `${kNameSize * ratio}px ${kTextFont}`;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    for (const mark of marks) {
      const x = Math.round(this.xOf(mark / timeline.tick_ns));
      context.fillStyle = colours.grid.css;
      context.fillRect(x, this.top - 5 * ratio, 1, 5 * ratio);
      const text = axisWords(mark, step);
      const width = context.measureText(text).width;
      const left = Math.min(Math.max(x - width / 2, this.left), canvas.width - width - ratio);
      context.fillStyle = colours.faint.css;
      context.fillText(text, left, this.top / 2 - ratio);
    }
    this.paintHits();
  }

  // Hits of a search are marks below the axis: one per column, however many there are.
  paintHits() {
    const {context, scene, boxes} = this;
    context.fillStyle = scene.colours.mark.css;
    let last = -1;
    for (const box of scene.hits) {
      const x = Math.round(this.xOf(boxes.start[box] + boxes.duration[box] / 2));
      if (x <= last || x < this.left) continue;
      if (x > this.canvas.width) break;
      last = x + scene.ratio;
      context.fillRect(x - scene.ratio, this.top - 5 * scene.ratio, 2 * scene.ratio, 5 * scene.ratio);
    }
  }

  paintGutter(visible) {
    const {context, scene, canvas} = this;
    const {colours, ratio} = scene;
    context.fillStyle = colours.ground.css;
    context.fillRect(0, 0, this.left, canvas.height);
    context.save();
    context.beginPath();
    context.rect(0, this.top, this.left, canvas.height - this.top);
    context.clip();
    context.textBaseline = 'middle';
    for (const lane of visible) {
      const middle = this.yOf(lane.top) + this.heightOf(lane) / 2;
      context.textAlign = 'left';
      const size = Math.min(12, lane.height + 1);
      context.font = `${size * ratio}px ${kTextFont}`;
      context.fillStyle = colours.text.css;
      if (lane.opensRank) {
        context.fillText(rowWords(lane.row), 4 * ratio, middle, this.left - 8 * ratio);
      } else if (lane.height >= 9 && lane.row.track === 0) {
        context.textAlign = 'right';
        context.font = `${9.5 * ratio}px ${kTextFont}`;
        context.fillStyle = colours.faint.css;
        context.fillText(kLaneWords[lane.row.lane], this.left - 8 * ratio, middle);
      }
    }
    context.restore();
  }
}

/** Lines between boxes of the path. Those within a column are merged, so there are never more than columns. */
class PathLinks {
  constructor() {
    this.path = new Path2D();
    this.column = null;
    this.top = 0;
    this.bottom = 0;
  }

  add(x0, y0, x1, y1) {
    if (x1 - x0 >= 2) {
      this.path.moveTo(x0, y0);
      this.path.lineTo(x1, y1);
      return;
    }
    const column = Math.round(x1);
    if (column !== this.column) {
      this.end();
      this.column = column;
      this.top = this.bottom = y0;
    }
    this.top = Math.min(this.top, y0, y1);
    this.bottom = Math.max(this.bottom, y0, y1);
  }

  end() {
    if (this.column === null || this.top === this.bottom) return;
    this.path.moveTo(this.column + 0.5, this.top);
    this.path.lineTo(this.column + 0.5, this.bottom);
  }
}

/** The whole step in a low strip: compute lanes one above the other, mixed where there are many. */
class MapPainter {
  constructor(canvas, timeline, boxes) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', {alpha: false});
    this.timeline = timeline;
    this.boxes = boxes;
    this.strip = null;
  }

  /**
   * @param {{width: number, height: number, ratio: number, colours: Colours, length: number, extent: number}} scene
   * @param {Window} window that the timeline shows
   */
  paint(scene, window) {
    const {canvas, context} = this;
    const left = Math.round(gutterWidth(scene.width) * scene.ratio);
    const columns = Math.max(1, Math.round(scene.width * scene.ratio) - left);
    const height = Math.max(1, Math.round(scene.height * scene.ratio));
    const used = Math.max(1, Math.round(columns * scene.length / scene.extent));
    if (this.strip?.width !== used || this.colours !== scene.colours) this.paintStrip(used, scene);
    canvas.width = left + columns;  // also clears
    canvas.height = height;
    context.fillStyle = scene.colours.ground.css;
    context.fillRect(0, 0, canvas.width, height);
    // Few lanes keep their edges, of many neighbours are mixed.
    context.imageSmoothingEnabled = this.strip.height > height;
    context.drawImage(this.strip, left, 0, used, height);
    this.paintWindow(window, left, columns, height, scene);
  }

  // What is not shown is dimmed.
  paintWindow({t0, t1}, left, columns, height, {colours, extent, ratio}) {
    const {context} = this;
    const from = Math.floor(t0 * columns / extent);
    const to = Math.ceil(t1 * columns / extent);
    context.globalAlpha = 0.6;
    context.fillRect(left, 0, from, height);
    context.fillRect(left + to, 0, columns - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = colours.text.css;
    context.lineWidth = Math.max(1, Math.round(ratio));
    context.strokeRect(left + from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
  }

  paintStrip(columns, {colours, length}) {
    const rows = this.timeline.rows.filter(({lane}) => lane === 'compute');
    this.colours = colours;
    this.strip = new OffscreenCanvas(columns, Math.max(1, rows.length));
    const image = new ImageData(columns, Math.max(1, rows.length));
    const pixels = new Uint32Array(image.data.buffer);
    const cover = new Cover(columns, this.timeline.kinds.length);
    rows.forEach((row, line) => {
      cover.clear();
      coverRow(this.boxes, row, {t0: 0, t1: length, columns}, cover);
      mixColumns(cover, colours, pixels, line * columns);
      for (const {box, from, to} of cover.runs) {
        pixels.fill(colours.kinds[this.boxes.kind[box]].packed, line * columns + from, line * columns + to);
      }
    });
    this.strip.getContext('2d').putImageData(image, 0, 0);
  }
}
