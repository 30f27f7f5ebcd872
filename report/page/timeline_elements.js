// The elements around a timeline's canvas: controls, legend, and the panel that tells of the selected box.

const kHelp = 'Keys: W and S zoom, A and D move, F shows the whole step, O the warm-up and the first period. Arrows ' +
    'step through the boxes; with Shift they select a span, and Z zooms to it. / searches, N goes to the next hit, ' +
    'C shows the critical path, L shows or hides the transfers, Enter reads the box aloud, Escape clears the ' +
    'selection. Mouse: point at a box to read it, click to keep it, turn the wheel to zoom, drag to move, drag on ' +
    'the axis to select a span.';

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
  if (json.memory?.length) {
    timeline.stripCanvas = make('canvas', {class: 'timeline-memory', role: 'img', 'aria-label': memoryLabel(json)});
    timeline.stripCanvas.style.height = `${kStripHeight}px`;
  }
  timeline.tip = make('div', {class: 'timeline-tip', hidden: true});
  timeline.pathText = make('p', {class: 'timeline-path'});
  timeline.panel = make('div', {class: 'timeline-panel', hidden: true});
  timeline.rangeText = make('span', {role: 'status'});
  timeline.rangePart = make('p', {class: 'timeline-range', hidden: true}, timeline.rangeText, ' ',
      makeControl('Zoom to it', 'Z', () => timeline.zoomToSelection()));
  timeline.container.append(make('div', {class: 'timeline'},
      makeBar(timeline), timeline.mapCanvas, timeline.view, timeline.stripCanvas, timeline.tip,
      makeLegendOfKinds(json, boxes), timeline.rangePart, timeline.panel, timeline.pathText,
      make('details', {class: 'timeline-keys'}, make('summary', {}, 'Keys and mouse'), help)));
}

/** Places and paints the timeline again when the width, the resolution or the theme changes. */
function watchTimeline(timeline) {
  let width = timeline.view.clientWidth;
  new ResizeObserver(() => {
    if (timeline.view.clientWidth === width && timeline.ratio === devicePixelRatio) return;
    width = timeline.view.clientWidth;
    timeline.reopen();
    timeline.arrange();
  }).observe(timeline.view);
  addEventListener('resize', () => timeline.arrange());
  const recolour = () => {
    timeline.colours = null;
    timeline.repaint();
  };
  new MutationObserver(recolour).observe(document.documentElement, {attributes: true});
  // Paper has a theme of its own, and no next frame.
  addEventListener('beforeprint', () => {
    timeline.colours = null;
    timeline.paint();
  });
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
      makeControl('Whole step', 'F', () => timeline.fit()),
      makeControl('Warm-up', 'O', () => timeline.showOpening()),
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
          make('li', {}, makeSwatch(kind), make('b', {}, kind), ` ${kindWords(kind)}`)),
      memoryLegend(json));
}

/** What the bands of the strip of memory are, from the bottom up; nothing where the rank has none. */
function memoryLegend(json) {
  if (!json.memory?.length) return [];
  const memory = json.memory[fullestMemory(json.memory)];
  const parts = kMemoryParts.filter(({constant}) => !constant || memory.constant_bytes[constant] > 0);
  return parts.map(({name}, index) => {
    const mark = make('span', {class: 'timeline-swatch'});
    mark.style.background = `var(--memory-${name})`;
    return make('li', {}, index === 0 ? 'Memory: ' : null, mark, name);
  });
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

function memoryLabel(json) {
  const memory = json.memory[fullestMemory(json.memory)];
  return `Memory over time. The fullest rank, PP rank ${pipelineRankOf(json, memory)}, peaks at ${bytesText(memory.peak_bytes)} of ` +
      `${bytesText(memory.capacity_bytes)}${memory.peak_at ? ` in ${memory.peak_at}` : ''}.`;
}

function timelineLabel(json, boxes) {
  const ranks = new Set(json.rows.map(({rank}) => rank)).size;
  return `${json.title}: ${countOf(boxes.count, 'action')} of ${countOf(ranks, 'rank')} in ` +
      `${durationText(json.length_ns)}`;
}

/** What is known of a box, as [term, value]; `link` makes what stands for another box. */
function factEntries(timeline, box, link) {
  const {json, boxes} = timeline;
  const facts = boxFacts(json, boxes, box);
  return [
    ['Rank', rankWords(facts.row)],
    ['Stage', facts.stage],
    ['Micro-batch', facts.microBatch],
    ['Starts at', durationText(facts.startNs)],
    ['Takes', durationText(facts.durationNs)],
    ['Bytes', facts.bytes > 0 ? `${bytesText(facts.bytes)}, ${rateText(facts)}` : null],
    ['Memory', memoryWords(timeline, facts)],
    ['Waited for', causeOf(facts, link)],
    ['Waited on by', effectsOf(timeline, box, link)],
    ['Critical path', facts.onPath ? 'is part of it' : null],
  ].filter(([, value]) => !isAbsent(value));
}

/** "rank 6 (PP rank 3), sends, and 15 DP ranks that do the same" */
function rankWords(row) {
  const lane = row.lane === 'compute' ? '' : `, ${kLaneWords[row.lane]}`;
  const others = row.replicas - 1;
  const inPipeline = row.pipeline_rank === row.rank ? '' : ` (PP rank ${row.pipeline_rank})`;
  return `rank ${row.rank}${inPipeline}${lane}` + (others > 0 ? `, and ${countOf(others, 'DP rank')} that do the same` : '');
}

/** Name, kind and facts of a box: the same for a box that is pointed at and for one that was clicked. */
function makeFacts(timeline, box, link) {
  const {json, boxes} = timeline;
  return [
    make('p', {class: 'timeline-name'}, makeSwatch(json.kinds[boxes.kind[box]]),
        make('b', {}, boxName(json, boxes, box)), ` ${kindWords(json.kinds[boxes.kind[box]])}`),
    make('dl', {}, factEntries(timeline, box, link)
        .map(([term, value]) => make('div', {}, make('dt', {}, term), make('dd', {}, value)))),
  ];
}

/** Tells what is known of the selected box. */
function fillPanel(timeline) {
  const {selected, panel} = timeline;
  panel.hidden = selected === kNoBox;
  panel.replaceChildren();
  if (selected === kNoBox) return;
  panel.append(...makeFacts(timeline, selected, (box) => makeBoxLink(timeline, box)));
}

/** What its rank holds when the box has started. */
function memoryWords({json, boxes}, {row, startNs}) {
  const memory = row.lane === 'compute' && json.memory?.find(({rank}) => rank === row.rank);
  if (!memory) return null;
  return `${bytesText(memoryAt(boxes, memory, startNs / json.tick_ns).total)} of ${bytesText(memory.capacity_bytes)}`;
}

function rateText({bytes, durationNs}) {
  return `${(bytes / durationNs).toPrecision(3)} GB/s`;
}

function causeOf(facts, link) {
  if (facts.waitedFor === kNoBox) return unknownWaitWords(facts);
  return [link(facts.waitedFor), `, ${waitWords(facts)}`];
}

function effectsOf(timeline, box, link) {
  const found = boxesLetStart(timeline.boxes, box, 6);
  if (found.length === 0) return null;
  return found.flatMap((other, i) => [i > 0 && ', ', link(other)]);
}

/** A box and its rank, as text. */
function boxAndRank({json, boxes}, box) {
  return `${boxName(json, boxes, box)} (${rowWords(json.rows[boxes.row[box]], true)})`;
}

/** A link that selects another box. */
function makeBoxLink(timeline, box) {
  return make('button', {type: 'button', class: 'timeline-link', on: {click: () => timeline.follow(box)}},
      boxAndRank(timeline, box));
}
