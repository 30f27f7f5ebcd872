// Memory of one rank under the timeline, on its scale of time: what does not change, the stash on top of it, the
// limit, and the peak. A canvas of its own, so that it needs no library.

const kStripHeight = 84;
const kStripTop = 6;

/** What a rank holds at a tick: the last point of memory before it. @returns {number} an index, or -1 */
function pointBefore(boxes, {first, count}, tick) {
  let low = first;
  let high = first + count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (boxes.pointTime[middle] <= tick) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1 >= first ? low - 1 : -1;
}

/** The greatest stash in each of `columns` equal spans from t0 to t1, and what it is at the start of the first. */
function stashOfColumns(boxes, memory, {t0, t1, columns}) {
  const greatest = new Float64Array(columns);
  let point = pointBefore(boxes, memory, t0);
  let held = point < 0 ? 0 : boxes.stash[point];
  if (point < 0) point = memory.first - 1;
  for (let column = 0; column < columns; ++column) {
    const end = t0 + (column + 1) * (t1 - t0) / columns;
    greatest[column] = held;
    while (point + 1 < memory.first + memory.count && boxes.pointTime[point + 1] < end) {
      held = boxes.stash[++point];
      greatest[column] = Math.max(greatest[column], held);
    }
  }
  return greatest;
}

/** Bytes that a rank holds at a tick: {stash, total}. */
function memoryAt(boxes, memory, tick) {
  const point = pointBefore(boxes, memory, tick);
  const stash = point < 0 ? 0 : boxes.stash[point];
  return {stash, total: stash + constantBytes(memory)};
}

function constantBytes(memory) {
  return Object.values(memory.constant_bytes).reduce((sum, bytes) => sum + bytes, 0);
}

/** The index of the rank with least memory left; of equals the first. */
function fullestMemory(memories) {
  return memories.reduce((best, memory, index) =>
      memory.capacity_bytes - memory.peak_bytes < memories[best].capacity_bytes - memories[best].peak_bytes
          ? index : best, 0);
}

function makeMemorySwatch(name) {
  return make('span', {class: 'timeline-swatch', 'aria-hidden': 'true',
                       style: `background: var(${name === 'limit' ? '--bad' : `--memory-${name}`})`});
}

/** The rank of the pipeline, as tables count them, of a timeline's rank of the job. */
function pipelineRankOf(timeline, memory) {
  return timeline.rows.find((row) => row.rank === memory.rank)?.pipeline_rank ?? memory.rank;
}

class MemoryStrip {
  constructor(canvas, timeline, boxes) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', {alpha: false});
    this.timeline = timeline;
    this.boxes = boxes;
    this.chosen = fullestMemory(timeline.memory);
  }

  get memory() {
    return this.timeline.memory[this.chosen];
  }

  /** Shows the rank of a box, where its memory is known. */
  choose(rank) {
    const index = this.timeline.memory.findIndex((memory) => memory.rank === rank);
    if (index >= 0) this.chosen = index;
  }

  /** @param {{window, width: number, ratio: number, colours: Colours, cursor: ?number}} scene `cursor`: a tick */
  paint(scene) {
    const {canvas, context} = this;
    this.scene = scene;
    this.left = Math.round(gutterWidth(scene.width) * scene.ratio);
    canvas.width = Math.max(this.left + 1, Math.round(scene.width * scene.ratio));
    canvas.height = Math.round(kStripHeight * scene.ratio);
    this.columns = canvas.width - this.left;
    const {memory} = this;
    this.top = 1.08 * Math.max(memory.capacity_bytes, memory.peak_bytes);
    context.fillStyle = scene.colours.ground.css;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = scene.colours.memory.lane.css;
    context.fillRect(this.left, this.yOf(this.top), this.columns, canvas.height);
    this.paintStack();
    this.paintLimit();
    this.paintCursor();
    this.paintGutter();
  }

  yOf(bytes) {
    const from = kStripTop * this.scene.ratio;
    return from + (this.canvas.height - from) * (1 - bytes / this.top);
  }

  xOf(tick) {
    const {t0, t1} = this.scene.window;
    return this.left + (tick - t0) * this.columns / (t1 - t0);
  }

  paintStack() {
    const {context, memory} = this;
    const {window, colours} = this.scene;
    const constant = constantBytes(memory);
    const stash = stashOfColumns(this.boxes, memory, {...window, columns: this.columns});
    context.fillStyle = colours.memory.activations.css;
    const bottom = this.yOf(constant);
    for (let column = 0; column < this.columns;) {
      let end = column + 1;
      while (end < this.columns && stash[end] === stash[column]) ++end;
      const y = this.yOf(constant + stash[column]);
      context.fillRect(this.left + column, y, end - column, bottom - y);
      column = end;
    }
    let level = 0;
    for (const {constant: key, name} of kMemoryParts) {
      const bytes = key ? memory.constant_bytes[key] ?? 0 : 0;
      context.fillStyle = colours.memory[name].css;
      context.fillRect(this.left, this.yOf(level + bytes), this.columns, this.yOf(level) - this.yOf(level + bytes));
      level += bytes;
    }
    const ended = this.xOf(this.timeline.length_ns / this.timeline.tick_ns);
    context.fillStyle = colours.ground.css;
    if (ended < this.canvas.width) context.fillRect(ended, 0, this.canvas.width - ended, this.canvas.height);
  }

  paintLimit() {
    const {context, memory} = this;
    const {ratio, colours} = this.scene;
    const y = Math.round(this.yOf(memory.capacity_bytes));
    context.strokeStyle = colours.memory.limit.css;
    context.lineWidth = Math.max(1, 1.5 * ratio);
    context.setLineDash([6 * ratio, 4 * ratio]);
    context.beginPath();
    context.moveTo(this.left, y);
    context.lineTo(this.canvas.width, y);
    context.stroke();
    context.setLineDash([]);
    const x = this.xOf(memory.peak_at_ns / this.timeline.tick_ns);
    if (x < this.left || x > this.canvas.width) return;
    context.beginPath();
    context.arc(x, this.yOf(memory.peak_bytes), 3.5 * ratio, 0, 2 * Math.PI);
    context.fillStyle = colours.ground.css;
    context.fill();
    context.strokeStyle = colours.text.css;
    context.stroke();
  }

  paintCursor() {
    const {cursor, colours, ratio} = this.scene;
    if (isAbsent(cursor)) return;
    const x = Math.round(this.xOf(cursor));
    if (x < this.left) return;
    this.context.fillStyle = colours.text.css;
    this.context.fillRect(x, 0, Math.max(1, Math.round(ratio)), this.canvas.height);
  }

  paintGutter() {
    const {context, memory} = this;
    const {colours, ratio, width} = this.scene;
    const high = this.canvas.height;
    const write = (text, share, colour, size) => {
      context.font = `${size * ratio}px ${kTextFont}`;
      context.fillStyle = colour.css;
      context.fillText(text, 4 * ratio, share * high, this.left - 8 * ratio);
    };
    context.fillStyle = colours.ground.css;
    context.fillRect(0, 0, this.left, high);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    write(`limit ${bytesText(memory.capacity_bytes)}`, 0.14, colours.memory.limit, 11);
    write(width < 600 ? 'memory' : 'memory of', 0.42, colours.faint, 11);
    write(`PP rank ${pipelineRankOf(this.timeline, memory)}`, 0.6, colours.text, 12);
    write(`peak ${bytesText(memory.peak_bytes)}`, 0.82, colours.faint, 11);
  }
}
