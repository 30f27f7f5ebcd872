// The timeline of a step: rows of boxes on a canvas that is zoomed, searched and read box by box, by mouse or
// keyboard alone. Its elements are in timeline_elements.js, what is painted how in timeline_painter.js, and what
// mouse and keys do in timeline_input.js.

// Keys W and S change the span shown by this factor, A and D move it by this share.
const kZoomFactor = 1.5;
const kPanShare = 0.2;
// Nothing is to be seen below this many ticks across the canvas.
const kLeastTicks = 20;
const kMapHeight = 24;
// However little of the first screen is left, the lanes have so much, and the legend below them has this.
const kLeastHeight = 150;
const kBelowLanes = 48;
// Where all lanes would be higher than that by this factor, transfers are hidden at first.
const kCrowded = 1.4;
const kGlideMs = 160;

class Timeline {
  /**
   * @param {Element} container is filled
   * @param {object} json the timeline's entry in the page's data
   * @param {Boxes} boxes
   */
  constructor(container, json, boxes) {
    this.container = container;
    this.json = {...json, kinds: boxes.kinds};
    this.boxes = boxes;
    this.length = Math.max(1, json.length_ns / json.tick_ns);
    this.extent = this.length;  // what can be shown, in ticks
    this.linked = null;
    this.changed = () => {};  // called when what is shown or selected is another
    this.computeOnly = false;
    this.lanes = [];
    this.selected = kNoBox;
    this.hovered = kNoBox;
    this.range = null;
    this.path = null;  // made when first asked for
    this.pathShown = false;
    this.search = {text: '', hits: new Uint32Array(), at: -1};
    this.paintMs = 0;  // of the last paint
    this.frame = 0;
    buildTimeline(this);
    this.opening = this.openingNow();
    this.window = this.opening;
    // Where ranks are many, their compute alone is legible.
    this.computeOnly = layoutLanes(this.json, false, Infinity).height > kCrowded * this.heightLimit();
    this.lanesButton.setAttribute('aria-pressed', String(!this.computeOnly));
    this.painter = new TimelinePainter(this.canvas, this.json, boxes);
    this.map = new MapPainter(this.mapCanvas, this.json, boxes);
    this.strip = this.stripCanvas && new MemoryStrip(this.stripCanvas, this.json, boxes);
    this.input = new TimelineInput(this);
    watchTimeline(this);
    this.arrange();
    // Of no use to the first picture, and a walk over all boxes.
    setTimeout(() => this.describePath());
  }

  // ---- what is shown ----

  /** The span shown, in ns from the start of the step. */
  visibleRange() {
    const {t0, t1} = this.window;
    return {start_ns: t0 * this.json.tick_ns, end_ns: t1 * this.json.tick_ns};
  }

  /** Shows the whole step. */
  fit() {
    this.glideTo(0, this.extent);
  }

  openingNow() {
    const wide = this.view.clientWidth;
    return openingSpan(this.json, this.boxes, wide - gutterWidth(wide));
  }

  /** Shows the warm-up and the first period, where the whole step is too much to read. */
  showOpening() {
    this.glideTo(this.opening.t0, this.opening.t1);
  }

  /** In another width another part may be what can be read: it is shown where nothing else was chosen. */
  reopen() {
    const {t0, t1} = this.window;
    const untouched = t0 === this.opening.t0 && t1 === this.opening.t1;
    this.opening = this.openingNow();
    if (untouched) this.show(this.opening.t0, this.opening.t1);
  }

  /** Shows the span from `startNs` to `endNs`, as far as there is one. */
  zoomTo(startNs, endNs) {
    this.show(startNs / this.json.tick_ns, endNs / this.json.tick_ns);
  }

  /** Makes the span shown longer by `factor`, so that `tick` stays where it is. */
  zoomAt(tick, factor) {
    const {t0, t1} = this.window;
    const span = this.allowedSpan((t1 - t0) * factor);
    const start = tick - (tick - t0) * span / (t1 - t0);
    this.show(start, start + span);
  }

  /** Moves by a share of the span shown. */
  panBy(share) {
    const {t0, t1} = this.window;
    const by = share * (t1 - t0);
    this.show(t0 + by, t1 + by);
  }

  show(t0, t1) {
    this.showAlone(t0, t1);
    const {start_ns, end_ns} = this.visibleRange();
    const other = this.linked;
    other?.showAlone(start_ns / other.json.tick_ns, end_ns / other.json.tick_ns);
  }

  showAlone(t0, t1) {
    const span = this.allowedSpan(t1 - t0);
    const start = Math.min(Math.max(0, t0), this.extent - span);
    this.glide = null;
    this.window = {t0: start, t1: start + span};
    this.repaint();
    this.changed();
  }

  allowedSpan(span) {
    return Math.min(this.extent, Math.max(Math.min(kLeastTicks, this.extent), span));
  }

  /** From now on both show the same span, up to the end of the longer one; with null each is alone again. */
  link(other) {
    const whole = this.window.t1 - this.window.t0 >= this.extent;
    for (const timeline of [this, this.linked, other, other?.linked]) timeline?.unlink();
    if (other) {
      this.linked = other;
      other.linked = this;
      const longer = Math.max(this.json.length_ns, other.json.length_ns);
      for (const timeline of [this, other]) timeline.extent = Math.max(1, longer / timeline.json.tick_ns);
    }
    this.show(this.window.t0, whole ? this.extent : this.window.t1);
  }

  unlink() {
    this.linked = null;
    this.extent = this.length;
    this.showAlone(this.window.t0, this.window.t1);
  }

  /** Like show(), but the eye can follow; at once for those who want no motion. */
  glideTo(t0, t1) {
    const from = this.window;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches || document.hidden) {
      this.show(t0, t1);
      return;
    }
    const began = performance.now();
    const glide = (now) => {
      if (this.glide !== glide) return;  // another move took over
      const part = Math.min(1, Math.max(0, (now - began) / kGlideMs));
      const eased = part * (2 - part);
      this.show(from.t0 + (t0 - from.t0) * eased, from.t1 + (t1 - from.t1) * eased);
      if (part === 1) return;
      this.glide = glide;
      requestAnimationFrame(glide);
    };
    this.glide = glide;
    requestAnimationFrame(glide);
  }

  // ---- where things are, in CSS pixels from the canvas's corner ----

  tickAt(x) {
    const {t0, t1} = this.window;
    const left = this.painter.left / this.ratio;
    return t0 + (x - left) * (t1 - t0) * this.ratio / this.painter.columns;
  }

  laneAt(y) {
    if (y < kAxisHeight) return null;
    return this.lanes[laneAt(this.lanes, y - kAxisHeight + this.view.scrollTop)] ?? null;
  }

  /** The box at a point, or -1. */
  hitTest(x, y) {
    const lane = x * this.ratio < this.painter.left ? null : this.laneAt(y);
    return lane ? boxAt(this.boxes, lane.row, this.tickAt(x)) : -1;
  }

  /** Like hitTest(), but of boxes too small to be met it takes the nearest; kNoBox where none is near. */
  boxNear(x, y) {
    const lane = x * this.ratio < this.painter.left ? null : this.laneAt(y);
    if (!lane) return kNoBox;
    const slack = 2 * (this.tickAt(1) - this.tickAt(0));
    const box = boxNear(this.boxes, lane.row, this.tickAt(x), slack);
    return box < 0 ? kNoBox : box;
  }

  /** Where a box is, or null where its lane is not shown. */
  boxRect(box) {
    const lane = this.lanes.find(({index}) => index === this.boxes.row[box]);
    if (!lane) return null;
    const x = this.painter.xOf(this.boxes.start[box]) / this.ratio;
    const end = this.painter.xOf(this.boxes.start[box] + this.boxes.duration[box]) / this.ratio;
    return {x, y: kAxisHeight + lane.top - this.view.scrollTop, width: end - x, height: lane.height};
  }

  // ---- selection ----

  /** Selects a box, shows what is known of it, and moves so far that it is in sight. */
  select(box, {closer = false} = {}) {
    this.selected = box;
    if (box !== kNoBox) {
      this.strip?.choose(this.json.rows[this.boxes.row[box]].rank);
      this.reveal(box, closer);
    }
    fillPanel(this);
    this.repaint();
    this.changed();
  }

  reveal(box, closer) {
    if (!this.boxRect(box)) this.showLanes(false);  // its lane is hidden
    const rect = this.boxRect(box);
    const high = this.view.clientHeight;
    if (rect.y < kAxisHeight || rect.y + rect.height > high) {
      this.view.scrollTop += rect.y + rect.height / 2 - (high + kAxisHeight) / 2;
    }
    const from = this.boxes.start[box];
    const to = from + this.boxes.duration[box];
    let {t0, t1} = this.window;
    let span = t1 - t0;
    // Close enough to see the box and what is around it.
    if (closer && (to - from) / span < 0.02) span = this.allowedSpan((to - from) / 0.02);
    const inside = span === t1 - t0 && (from >= t0 && to <= t1 || from < t0 && to > t1);
    if (inside) return;
    const middle = Math.min(Math.max((from + to) / 2, from), from + span / 2);
    t0 = Math.min(Math.max(0, middle - span / 2), this.extent - span);
    this.glideTo(t0, t0 + span);
  }

  /** The neighbour of the selected box on its lane; the first one in sight where none is selected. */
  selectBeside(step, extend) {
    const before = this.selected;
    if (before === kNoBox) {
      this.select(this.firstInSight());
      return;
    }
    const {first, count} = this.json.rows[this.boxes.row[before]];
    const box = Math.min(Math.max(before + step, first), first + count - 1);
    this.select(box);
    if (extend) this.extendRange(before, box);
  }

  /** The box of the next lane up or down that runs when the selected one begins, or is nearest to it. */
  selectAcross(step) {
    if (this.selected === kNoBox) {
      this.select(this.firstInSight());
      return;
    }
    let at = this.lanes.findIndex(({index}) => index === this.boxes.row[this.selected]) + step;
    while (this.lanes[at] && this.lanes[at].row.count === 0) at += step;
    if (!this.lanes[at]) return;
    const tick = this.boxes.start[this.selected] + this.boxes.duration[this.selected] / 2;
    this.select(boxNear(this.boxes, this.lanes[at].row, tick, Infinity));
  }

  firstInSight() {
    for (const {row} of this.lanes) {
      const box = firstEndingAfter(this.boxes, row, this.window.t0);
      if (box < row.first + row.count) return box;
    }
    return kNoBox;
  }

  setRange(range) {
    this.range = range && range.t1 > range.t0 ? range : null;
    this.rangeText.textContent = this.range ? rangeWords(this.json, this.boxes, this.range) : '';
    this.rangePart.hidden = !this.range;
    this.repaint();
  }

  extendRange(from, to) {
    const {start, duration} = this.boxes;
    const old = this.range ?? {t0: Infinity, t1: 0};
    this.setRange({
      t0: Math.min(old.t0, start[from], start[to]),
      t1: Math.max(old.t1, start[from] + duration[from], start[to] + duration[to]),
    });
  }

  /** Zooms to the selected span, else to the selected box. */
  zoomToSelection() {
    const {start, duration} = this.boxes;
    const box = this.selected;
    if (this.range) {
      this.glideTo(this.range.t0, this.range.t1);
    } else if (box !== kNoBox) {
      this.glideTo(start[box] - duration[box], start[box] + 2 * duration[box]);
    }
  }

  // ---- search ----

  /** Marks the boxes that `text` means and goes to the first. @returns {number} how many there are */
  find(text) {
    this.findBox.value = text;
    this.markHits(text);
    this.goToHit(1);
    return this.search.hits.length;
  }

  markHits(text) {
    if (text === this.search.text) return;
    const {hits, problem} = findBoxes(this.json, this.boxes, text);
    this.search = {text, hits, at: -1};
    this.findCount.textContent = problem || (hits.length ? countOf(hits.length, 'hit') : '');
    this.findCount.classList.toggle('problem', problem !== '');
    this.findBox.setAttribute('aria-invalid', String(problem !== ''));
    this.repaint();
  }

  /** The next hit, or with step -1 the one before; after the last comes the first. */
  goToHit(step) {
    const {hits} = this.search;
    if (hits.length === 0) return;
    const at = this.search.at < 0 && step < 0 ? 0 : this.search.at;
    this.search.at = (at + step + hits.length) % hits.length;
    const box = hits[this.search.at];
    this.findCount.textContent = `${countText(this.search.at + 1)} of ${countOf(hits.length, 'hit')}`;
    this.select(box, {closer: true});
    announce(boxSentence(this.json, this.boxes, box, false));
  }

  /** Goes to a box that a link named. With the old panel the link is gone: keys go on from the view. */
  follow(box) {
    this.select(box, {closer: true});
    this.view.focus({preventScroll: true});
    announce(boxSentence(this.json, this.boxes, box, false));
  }

  // ---- critical path and lanes ----

  showPath(shown) {
    this.pathShown = shown && this.pathOfBoxes().length > 0;
    this.pathButton.setAttribute('aria-pressed', String(this.pathShown));
    this.repaint();
  }

  pathOfBoxes() {
    this.path ??= criticalPath(this.boxes);
    return this.path;
  }

  describePath() {
    const path = this.pathOfBoxes();
    this.pathButton.disabled = path.length === 0;
    this.pathText.textContent = path.length ?
        `Critical path: ${pathWordsOf(this.json, this.boxes, path)}` :
        'The critical path of this step is not known.';
  }

  showLanes(computeOnly) {
    this.computeOnly = computeOnly;
    this.lanesButton.setAttribute('aria-pressed', String(!computeOnly));
    this.arrange();
  }

  // ---- painting ----

  /** Paints in the next frame, however often it is asked for. */
  repaint() {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
  }

  /** So high may the lanes be: down to the lower edge of the first screen, with what stands below them. */
  heightLimit() {
    const above = this.view.getBoundingClientRect().top + scrollY;
    const below = (this.stripCanvas ? kStripHeight : 0) + kBelowLanes;
    const left = innerHeight - above - below;
    // One that is not on the first screen has as much as it can use.
    if (left < 0) return 0.7 * innerHeight - kAxisHeight;
    return Math.max(kLeastHeight, Math.min(0.7 * innerHeight, left)) - kAxisHeight;
  }

  /** Places the lanes for the width there is, and paints at once. */
  arrange() {
    const limit = this.heightLimit();
    const {lanes, height} = layoutLanes(this.json, this.computeOnly, limit);
    this.lanes = lanes;
    this.contentHeight = kAxisHeight + height;
    this.viewHeight = Math.min(this.contentHeight, kAxisHeight + limit);
    this.view.style.height = `${this.viewHeight}px`;
    this.canvas.style.height = `${this.viewHeight}px`;
    this.spacer.style.height = `${this.contentHeight - this.viewHeight}px`;
    this.paint();
  }

  paint() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const width = this.view.clientWidth;
    if (width === 0) return;  // hidden; the observer calls again
    const began = performance.now();
    this.ratio = devicePixelRatio;
    this.colours ??= readColours(this.view, this.json.kinds);
    this.painter.paint(this.scene(width, this.viewHeight, this.view.scrollTop));
    this.map.paint({width, height: kMapHeight, ratio: this.ratio, colours: this.colours,
                    length: this.length, extent: this.extent}, this.window);
    this.paintStrip(width);
    this.paintMs = performance.now() - began;
  }

  /** Like repaint(), of the strip of memory alone. */
  repaintStrip() {
    this.stripFrame ||= requestAnimationFrame(() => {
      this.stripFrame = 0;
      if (this.colours) this.paintStrip(this.view.clientWidth);
    });
  }

  paintStrip(width) {
    this.strip?.paint({window: this.window, width, ratio: this.ratio, colours: this.colours,
                       cursor: this.input.tick ?? null});
  }

  scene(width, height, scroll) {
    return {
      window: this.window, length: this.length, lanes: this.lanes, width, height, scroll, ratio: this.ratio,
      colours: this.colours,
      path: this.pathShown ? this.path : null, hits: this.search.hits,
      selected: this.selected, hovered: this.hovered, range: this.range,
    };
  }

  /** All lanes over the span shown, whatever of them is scrolled out of sight. @returns {Promise<Blob>} */
  picture() {
    const canvas = document.createElement('canvas');
    new TimelinePainter(canvas, this.json, this.boxes)
        .paint(this.scene(this.view.clientWidth, this.contentHeight, 0));
    return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  }

  async savePicture() {
    saveAs(`${this.json.id}.png`, 'image/png', await this.picture());
  }
}
