// Mouse, touch and keys of a timeline. Everything a mouse can do, keys can do.

// A wheel's notch is about 100: it changes the span shown by about a fifth.
const kWheelZoom = 0.0018;
const kClickSlack = 4;
const kTypingPauseMs = 150;

class TimelineInput {
  constructor(timeline) {
    this.timeline = timeline;
    this.pointers = new Map();  // id -> position; two of them pinch
    this.drag = null;
    this.tick = null;           // of the time under the mouse
    this.pointer = null;        // where the mouse is, or null where it is elsewhere
    const {view, canvas, mapCanvas, findBox} = timeline;
    view.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    view.addEventListener('scroll', () => timeline.repaint());
    view.addEventListener('keydown', (event) => this.key(event));
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointercancel', (event) => this.cancel(event));
    canvas.addEventListener('pointerleave', () => this.leave());
    timeline.stripCanvas?.addEventListener('pointermove', (event) => this.hoverMemory(event));
    timeline.stripCanvas?.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('dblclick', () => timeline.zoomToSelection());
    mapCanvas.addEventListener('pointerdown', (event) => this.moveMap(event));
    mapCanvas.addEventListener('pointermove', (event) => event.buttons && this.moveMap(event));
    findBox.addEventListener('input', () => this.typed());
    findBox.addEventListener('keydown', (event) => this.findKey(event));
  }

  placeOf(event) {
    const {left, top} = this.timeline.canvas.getBoundingClientRect();
    return {x: event.clientX - left, y: event.clientY - top};
  }

  // ---- wheel ----

  wheel(event) {
    const {timeline} = this;
    const {x} = this.placeOf(event);
    // Over the names of the ranks the wheel scrolls, as everywhere on a page.
    if (x * timeline.ratio < timeline.painter.left) return;
    const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
    const sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      timeline.panBy(sideways * scale * timeline.ratio / timeline.painter.columns);
    } else {
      const {t0, t1} = timeline.window;
      // All is shown: the page may scroll on.
      if (event.deltaY > 0 && t1 - t0 >= timeline.extent && !event.ctrlKey) return;
      timeline.zoomAt(timeline.tickAt(x), Math.exp(event.deltaY * scale * kWheelZoom));
    }
    event.preventDefault();
  }

  // ---- pointers ----

  down(event) {
    if (event.button !== 0) return;
    const {timeline} = this;
    const place = this.placeOf(event);
    timeline.canvas.setPointerCapture(event.pointerId);
    timeline.view.focus({preventScroll: true});
    this.pointers.set(event.pointerId, place);
    if (this.pointers.size === 2) {
      this.drag = {kind: 'pinch', ...this.pinchNow()};
    } else {
      const kind = event.shiftKey || place.y < kAxisHeight ? 'range' : 'pan';
      this.drag = {kind, place, window: timeline.window, scroll: timeline.view.scrollTop, moved: false};
    }
  }

  move(event) {
    const place = this.placeOf(event);
    if (!this.pointers.has(event.pointerId)) {
      this.hover(place);
      return;
    }
    this.pointers.set(event.pointerId, place);
    this.hideTip();
    if (this.drag.kind === 'pinch') {
      this.pinch();
      return;
    }
    const far = Math.hypot(place.x - this.drag.place.x, place.y - this.drag.place.y) > kClickSlack;
    this.drag.moved ||= far;
    if (!this.drag.moved) return;
    if (this.drag.kind === 'pan') this.pan(place);
    if (this.drag.kind === 'range') this.selectRange(place);
  }

  pan(place) {
    const {timeline, drag} = this;
    const {t0, t1} = drag.window;
    const by = (drag.place.x - place.x) * (t1 - t0) * timeline.ratio / timeline.painter.columns;
    timeline.show(t0 + by, t1 + by);
    timeline.view.scrollTop = drag.scroll + drag.place.y - place.y;
  }

  selectRange(place) {
    const {timeline, drag} = this;
    const ends = [drag.place.x, place.x].map((x) => {
      return Math.min(Math.max(timeline.tickAt(x), timeline.window.t0), timeline.window.t1);
    });
    timeline.setRange({t0: Math.min(...ends), t1: Math.max(...ends)});
  }

  pinchNow() {
    const [a, b] = this.pointers.values();
    return {distance: Math.max(1, Math.abs(a.x - b.x)), middle: (a.x + b.x) / 2};
  }

  pinch() {
    const now = this.pinchNow();
    this.timeline.zoomAt(this.timeline.tickAt(now.middle), this.drag.distance / now.distance);
    this.drag = {kind: 'pinch', ...now};
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    const {timeline, drag} = this;
    this.drag = null;
    this.pointers.clear();
    if (drag.kind === 'pinch' || drag.moved) return;
    if (drag.kind === 'range') {
      timeline.setRange(null);
    } else {
      timeline.select(timeline.boxNear(drag.place.x, drag.place.y));
    }
  }

  cancel() {
    this.pointers.clear();
    this.drag = null;
  }

  moveMap(event) {
    const {timeline} = this;
    const {left} = timeline.mapCanvas.getBoundingClientRect();
    const inside = (event.clientX - left) * timeline.ratio - timeline.painter.left;
    const middle = inside * timeline.extent / timeline.painter.columns;
    const {t0, t1} = timeline.window;
    timeline.mapCanvas.setPointerCapture(event.pointerId);
    timeline.show(middle - (t1 - t0) / 2, middle + (t1 - t0) / 2);
  }

  // ---- what is under the mouse ----

  hover(place) {
    const {timeline} = this;
    this.pointer = place;
    this.moveCursor(place.x);
    const box = timeline.boxNear(place.x, place.y);
    if (box !== timeline.hovered) {
      timeline.hovered = box;
      timeline.repaint();
    }
    if (box === kNoBox) {
      this.hideTip();
    } else {
      this.showTip(box, place);
    }
  }

  showTip(box, place) {
    const {timeline} = this;
    const {tip, view} = timeline;
    tip.replaceChildren(...makeFacts(timeline, box, (other) => boxAndRank(timeline, other)));
    tip.hidden = false;
    const left = Math.min(place.x + 14, view.clientWidth - tip.offsetWidth - 4);
    tip.style.left = `${view.offsetLeft + Math.max(0, left)}px`;
    tip.style.top = `${view.offsetTop + place.y + 18}px`;
  }

  hideTip() {
    this.timeline.tip.hidden = true;
  }

  // The time under the mouse, in the strip of memory, too.
  moveCursor(x) {
    const {timeline} = this;
    this.tick = x === null || x * timeline.ratio < timeline.painter.left ? null : timeline.tickAt(x);
    if (timeline.strip) timeline.repaintStrip();
  }

  // What the rank holds at the time under the mouse.
  hoverMemory(event) {
    const {timeline} = this;
    const {tip, strip, view, stripCanvas, json, boxes} = timeline;
    const x = event.clientX - stripCanvas.getBoundingClientRect().left;
    this.moveCursor(x);
    if (isAbsent(this.tick) || this.tick > timeline.length) {
      this.hideTip();
      return;
    }
    const {memory} = strip;
    const {stash, total} = memoryAt(boxes, memory, this.tick);
    const parts = kMemoryParts.map(({name, constant}) => [name, constant ? memory.constant_bytes[constant] ?? 0 : stash])
        .filter(([, bytes]) => bytes > 0).reverse();
    tip.replaceChildren(
        make('p', {class: 'timeline-name'}, make('b', {}, `PP rank ${pipelineRankOf(json, memory)}`), ' holds ',
            make('b', {}, bytesText(total)), ` at ${durationText(this.tick * json.tick_ns)}`),
        make('dl', {}, [...parts, ['limit', memory.capacity_bytes]].map(([name, bytes]) =>
            make('div', {}, make('dt', {}, makeMemorySwatch(name), name), make('dd', {}, bytesText(bytes))))));
    tip.hidden = false;
    tip.style.left = `${view.offsetLeft + Math.max(0, Math.min(x + 14, view.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${stripCanvas.offsetTop + kStripHeight + 4}px`;
  }

  leave() {
    this.pointer = null;
    this.hideTip();
    this.moveCursor(null);
    if (this.timeline.hovered === kNoBox) return;
    this.timeline.hovered = kNoBox;
    this.timeline.repaint();
  }

  // ---- keys ----

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const action = this.actionOf(event);
    if (!action) return;
    event.preventDefault();
    this.hideTip();
    action();
  }

  actionOf({key, shiftKey}) {
    const {timeline} = this;
    const beside = (step) => () => this.telling(() => timeline.selectBeside(step, shiftKey));
    const actions = {
      w: () => this.zoom(1 / kZoomFactor),
      s: () => this.zoom(kZoomFactor),
      '+': () => this.zoom(1 / kZoomFactor),
      '-': () => this.zoom(kZoomFactor),
      a: () => timeline.panBy(-kPanShare),
      d: () => timeline.panBy(kPanShare),
      f: () => timeline.fit(),
      o: () => timeline.showOpening(),
      z: () => timeline.zoomToSelection(),
      c: () => timeline.showPath(!timeline.pathShown),
      l: () => timeline.showLanes(!timeline.computeOnly),
      n: () => timeline.goToHit(shiftKey ? -1 : 1),
      '/': () => timeline.findBox.select(),
      home: () => timeline.show(0, timeline.window.t1 - timeline.window.t0),
      end: () => timeline.show(timeline.extent - timeline.window.t1 + timeline.window.t0, timeline.extent),
      arrowleft: beside(-1),
      arrowright: beside(1),
      arrowup: () => this.telling(() => timeline.selectAcross(-1)),
      arrowdown: () => this.telling(() => timeline.selectAcross(1)),
      enter: () => this.tell(true),
      escape: () => this.letGo(),
    };
    return actions[key.toLowerCase()];
  }

  // About the mouse where it is over the boxes, else about the middle.
  zoom(factor) {
    const {timeline} = this;
    const {t0, t1} = timeline.window;
    const inside = this.pointer && this.pointer.x * timeline.ratio >= timeline.painter.left;
    timeline.zoomAt(inside ? timeline.tickAt(this.pointer.x) : (t0 + t1) / 2, factor);
  }

  telling(move) {
    move();
    this.tell(false);
  }

  tell(detailed) {
    const {json, boxes, selected} = this.timeline;
    announce(selected === kNoBox ? 'No box is selected.' : boxSentence(json, boxes, selected, detailed));
  }

  letGo() {
    this.timeline.setRange(null);
    this.timeline.select(kNoBox);
  }

  // ---- search ----

  // Typing marks the hits; only Enter moves, so that what is looked at does not jump under the reader.
  typed() {
    clearTimeout(this.typing);
    const {timeline} = this;
    this.typing = setTimeout(() => timeline.markHits(timeline.findBox.value), kTypingPauseMs);
  }

  findKey(event) {
    const {timeline} = this;
    if (event.key === 'Enter') {
      clearTimeout(this.typing);
      timeline.markHits(timeline.findBox.value);
      timeline.goToHit(event.shiftKey ? -1 : 1);
      event.preventDefault();
    } else if (event.key === 'Escape') {
      timeline.view.focus({preventScroll: true});
      event.preventDefault();
    }
  }
}
