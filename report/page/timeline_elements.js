// The elements around a timeline's canvas: controls, legend, and the panel that tells of the selected box.

const kHelp = 'W and S zoom, A and D move, F shows all, arrows step through the boxes, with Shift they select a ' +
    'span, Z zooms to it, / searches, N goes to the next hit, C shows the critical path, L hides the lanes ' +
    'of transfers, Enter reads the box, Escape lets go. With the mouse: wheel, drag, and drag on the axis.';

let timelinesMade = 0;

/** Fills the timeline's container, and gives the timeline the elements that it changes later. */
function buildTimeline(timeline) {
  const {json, boxes} = timeline;
  timeline.mapCanvas = make('canvas', {class: 'timeline-map', 'aria-hidden': 'true'});
  timeline.mapCanvas.style.height = `${kMapHeight}px`;
  timeline.canvas = make('canvas', {class: 'timeline-canvas'});
  timeline.spacer = make('div', {});
  const help = make('p', {class: 'timeline-help', id: `timeline-help-${++timelinesMade}`}, kHelp);
  timeline.view = make('div', {class: 'timeline-view', tabindex: '0', role: 'application',
                               'aria-roledescription': 'timeline', 'aria-label': timelineLabel(json, boxes),
                               'aria-describedby': help.id}, timeline.canvas, timeline.spacer);
  timeline.tip = make('div', {class: 'timeline-tip', hidden: true});
  timeline.pathText = make('p', {class: 'timeline-path'});
  timeline.panel = make('div', {class: 'timeline-panel', hidden: true});
  timeline.rangeText = make('span', {role: 'status'});
  timeline.rangePart = make('p', {class: 'timeline-range', hidden: true}, timeline.rangeText, ' ',
      makeControl('Zoom to it', 'Z', () => timeline.zoomToSelection()));
  timeline.container.append(make('div', {class: 'timeline'},
      makeBar(timeline), makeLegendOfKinds(json, boxes), timeline.mapCanvas, timeline.view, timeline.tip,
      timeline.rangePart, timeline.panel, timeline.pathText, help));
}

/** A button that a key does the work of, too. */
function makeControl(text, key, click, attributes = {}) {
  return make('button', {type: 'button', title: `Key ${key}`, on: {click}, ...attributes}, text);
}

function makeBar(timeline) {
  const zoom = (factor) => () => {
    const {t0, t1} = timeline.window;
    timeline.zoomAt((t0 + t1) / 2, factor);
  };
  timeline.pathButton = makeControl('Critical path', 'C', () => timeline.showPath(!timeline.pathShown),
      {'aria-pressed': 'false'});
  timeline.lanesButton = makeControl('Transfers', 'L', () => timeline.showLanes(!timeline.computeOnly),
      {'aria-pressed': 'true'});
  timeline.findBox = make('input', {type: 'search', placeholder: '3B2, stage 3, SEND_F', spellcheck: 'false',
                                    autocomplete: 'off'});
  timeline.findCount = make('output', {class: 'timeline-count'});
  const label = `Controls of ${timeline.json.title}`;
  return make('div', {class: 'timeline-bar', role: 'group', 'aria-label': label},
      makeControl('+', 'W', zoom(1 / kZoomFactor), {'aria-label': 'Zoom in'}),
      makeControl('\u2212', 'S', zoom(kZoomFactor), {'aria-label': 'Zoom out'}),
      makeControl('Fit', 'F', () => timeline.fit()),
      timeline.pathButton, timeline.lanesButton,
      make('label', {class: 'timeline-find', title: 'Key /'}, make('span', {}, 'Find'), timeline.findBox),
      makeControl('\u2039', 'Shift+N', () => timeline.goToHit(-1), {'aria-label': 'Previous hit'}),
      makeControl('\u203a', 'N', () => timeline.goToHit(1), {'aria-label': 'Next hit'}),
      timeline.findCount,
      make('button', {type: 'button', on: {click: () => timeline.savePicture()}}, 'Save PNG'));
}

function makeLegendOfKinds(json, boxes) {
  const used = usedKinds(boxes, json.kinds.length);
  return make('ul', {class: 'timeline-legend', 'aria-label': 'Colours'},
      json.kinds.map((kind, index) => used[index] &&
          make('li', {}, makeSwatch(kind), make('b', {}, kind), ` ${kindWords(kind)}`)));
}

function usedKinds(boxes, kinds) {
  const used = new Array(kinds).fill(false);
  for (const kind of boxes.kind) used[kind] = true;
  return used;
}

function makeSwatch(kind) {
  const mark = make('span', {class: 'timeline-swatch'});
  mark.style.background = `var(--kind-${kind}, var(--kind-other))`;
  return mark;
}

function timelineLabel(json, boxes) {
  const ranks = new Set(json.rows.map(({rank}) => rank)).size;
  return `${json.title}: ${countOf(boxes.count, 'action')} of ${countOf(ranks, 'rank')} in ` +
      `${durationText(json.length_ns)}`;
}

/** Tells what is known of the selected box. */
function fillPanel(timeline) {
  const {json, boxes, selected, panel} = timeline;
  panel.hidden = selected === kNoBox;
  panel.replaceChildren();
  if (selected === kNoBox) return;
  const facts = boxFacts(json, boxes, selected);
  const entries = [
    ['Rank', rowWords(facts.row, true)],
    ['Stage', facts.stage],
    ['Micro-batch', facts.microBatch],
    ['Starts at', durationText(facts.startNs)],
    ['Takes', durationText(facts.durationNs)],
    ['Bytes', facts.bytes > 0 ? `${bytesText(facts.bytes)}, ${rateText(facts)}` : null],
    ['Waited for', makeCause(timeline, facts)],
    ['Let start', makeEffects(timeline)],
    ['Critical path', facts.onPath ? 'is part of it' : null],
  ];
  panel.append(
      make('p', {class: 'timeline-name'}, makeSwatch(json.kinds[boxes.kind[selected]]),
          make('b', {}, facts.name), ` ${facts.kind}`),
      make('dl', {}, entries.filter(([, value]) => !isAbsent(value))
          .map(([term, value]) => make('div', {}, make('dt', {}, term), make('dd', {}, value)))));
}

function rateText({bytes, durationNs}) {
  return `${(bytes / durationNs).toPrecision(3)} GB/s`;
}

function makeCause(timeline, facts) {
  if (facts.waitedFor === kNoBox) return unknownWaitWords(facts);
  return [makeBoxLink(timeline, facts.waitedFor), `, ${waitWords(facts)}`];
}

function makeEffects(timeline) {
  const found = boxesLetStart(timeline.boxes, timeline.selected, 6);
  if (found.length === 0) return null;
  return found.flatMap((box, i) => [i > 0 && ', ', makeBoxLink(timeline, box)]);
}

/** A link that selects another box. */
function makeBoxLink(timeline, box) {
  const {json, boxes} = timeline;
  return make('button', {type: 'button', class: 'timeline-link', on: {click: () => timeline.follow(box)}},
      `${boxName(json, boxes, box)} (${rowWords(json.rows[boxes.row[box]], true)})`);
}
