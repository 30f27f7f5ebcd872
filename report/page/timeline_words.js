// The words of a timeline: names of boxes as trainers know them, kinds in words, and what a search text means.

const kKindWords = {
  F: 'forward',
  I: 'input gradient',
  W: 'weight gradient',
  B: 'backward',
  R: 'recompute',
  SEND_F: 'send activation',
  RECV_F: 'receive activation',
  SEND_B: 'send gradient',
  RECV_B: 'receive gradient',
  UNSHARD: 'gather parameters',
  RESHARD: 'free parameters',
  TIED_REDUCE: 'reduce tied weights',
  REDUCE_GRAD: 'reduce gradients',
  NORM: 'gradient norm',
  OPT: 'optimizer',
  LOAD: 'load from host',
  STORE: 'store to host',
  OVERLAP_F_B: 'forward and backward as one',
};

const kLaneWords = {compute: 'compute', sends: 'sends', collectives: 'collectives'};

function kindWords(kind) {
  return kKindWords[kind] ?? kind;
}

/** "0F3", "1SEND_F0", "2REDUCE_GRAD"; of a pair that ran as one "(0F7;7B3)OVERLAP_F_B". */
function boxName(timeline, boxes, box) {
  const pair = timeline.overlaps?.[box];
  if (pair) return pair;
  const microBatch = boxes.microBatch[box];
  const name = boxes.stage[box] + timeline.kinds[boxes.kind[box]];
  return microBatch === kNoMicroBatch ? name : name + microBatch;
}

/** The same where there is little room: of a pair "0F7;7B3". */
function shortBoxName(timeline, boxes, box) {
  return boxName(timeline, boxes, box).replace(/^\((.*)\).*$/, '$1');
}

/** "rank 3 ×16", and with `lane` "rank 3 ×16, sends". */
function rowWords(row, lane = false) {
  const rank = row.replicas > 1 ? `rank ${row.rank} ×${row.replicas}` : `rank ${row.rank}`;
  return lane && row.lane !== 'compute' ? `${rank}, ${kLaneWords[row.lane]}` : rank;
}

const kAxisUnits = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];

/** A time on the axis, in the unit that shows steps of `step` ns with few digits: "1,250.5 ms". */
function axisWords(ns, step) {
  if (ns === 0) return '0';
  const [size, unit] = kAxisUnits.find(([size]) => step >= size / 10) ?? kAxisUnits[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const [whole, rest] = (ns / size).toFixed(digits).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${rest ? `${grouped}.${rest}` : grouped} ${unit}`;
}

// A part of a search text, and what it must equal. Names first: "3B2" is one, "stage 3" is not.
const kName = /^(\d+)([A-Z_]+?)(\d+)?$/;
const kFields = [
  [/^stage:(\d+)$/, 'stage'],
  [/^(?:mb|micro-?batch):(\d+)$/, 'microBatch'],
  [/^rank:(\d+)$/, 'rank'],
];

/**
 * What a search text means: every part of it must hold. Parts are a name ("3B2"), "stage 3", "mb 7", "rank 0",
 * a kind ("SEND_F", "forward"), a lane ("sends") or "critical".
 * @returns {{parts: object[]} | {problem: string}}
 */
function parseSearch(timeline, text) {
  const spaced = text.trim().replace(/[\s,]+/g, ' ');
  if (spaced === '') return {parts: []};
  const words = spaced.replace(/\b(stage|mb|micro-?batch|rank)[ :=]?(\d+)\b/gi, '$1:$2').split(' ');
  const parts = [];
  for (let i = 0; i < words.length; ++i) {
    // Kinds in words may be two: "input gradient".
    const two = i + 1 < words.length && searchPart(timeline, `${words[i]} ${words[i + 1]}`);
    const part = two || searchPart(timeline, words[i]);
    if (!part) return {problem: searchProblem(timeline, words[i])};
    if (two) ++i;
    parts.push(part);
  }
  return {parts};
}

function searchPart(timeline, word) {
  const upper = word.toUpperCase();
  const lower = word.toLowerCase();
  const kind = timeline.kinds.findIndex((name) => name === upper || kindWords(name) === lower);
  if (kind >= 0) return {kind};
  if (lower in kLaneWords) return {lane: lower};
  if (lower === 'critical') return {critical: true};
  for (const [form, field] of kFields) {
    const match = form.exec(lower);
    if (match) return {[field]: Number(match[1])};
  }
  const name = kName.exec(upper);
  const kindOfName = name ? timeline.kinds.indexOf(name[2]) : -1;
  if (kindOfName < 0) return null;
  // "3B" are those of all micro-batches; "2REDUCE_GRAD" has none.
  const microBatch = name[3] === undefined ? undefined : Number(name[3]);
  return {stage: Number(name[1]), kind: kindOfName, microBatch};
}

function searchProblem(timeline, word) {
  return `“${word}” is not a name, kind or lane of this timeline. Search for a name (3B2), “stage 3”, “mb 7”, ` +
      `“rank 0”, “critical”, or a kind: ${timeline.kinds.join(', ')}.`;
}

/**
 * The boxes that a search text means, by time.
 * @returns {{hits: Uint32Array, problem: string}} the problem is a sentence where there are no hits
 */
function findBoxes(timeline, boxes, text) {
  const {parts, problem} = parseSearch(timeline, text);
  if (problem) return {hits: new Uint32Array(), problem};
  if (parts.length === 0) return {hits: new Uint32Array(), problem: ''};
  const hits = [];
  for (const row of timeline.rows) {
    const open = parts.filter((part) => !holdsForRow(part, row));
    if (open.some((part) => part.rank !== undefined || part.lane !== undefined)) continue;
    for (let box = row.first; box < row.first + row.count; ++box) {
      if (open.every((part) => holdsForBox(part, timeline, boxes, box))) hits.push(box);
    }
  }
  const found = Uint32Array.from(hits).sort((a, b) => boxes.start[a] - boxes.start[b] || a - b);
  const nothing = `Nothing is called “${text.trim()}” in this timeline.`;
  return {hits: found, problem: found.length ? '' : nothing};
}

function holdsForRow(part, row) {
  return part.rank === row.rank || (part.lane !== undefined && part.lane === row.lane);
}

function holdsForBox(part, timeline, boxes, box) {
  if (part.critical) return (boxes.flags[box] & kOnCriticalPath) !== 0;
  const pair = timeline.overlaps?.[box];
  if (pair) {
    const names = [{kind: boxes.kind[box]}, ...namesOfPair(timeline, pair)];
    return names.some((name) => equalWhereGiven(part, name));
  }
  return (part.stage === undefined || part.stage === boxes.stage[box]) &&
      (part.kind === undefined || part.kind === boxes.kind[box]) &&
      (part.microBatch === undefined || part.microBatch === boxes.microBatch[box]);
}

// "(0F7;7B3)OVERLAP_F_B" answers to either name.
function namesOfPair(timeline, pair) {
  return pair.slice(1, pair.indexOf(')')).split(';').map((name) => searchPart(timeline, name) ?? {});
}

function equalWhereGiven(part, name) {
  return ['stage', 'kind', 'microBatch'].every(
      (field) => part[field] === undefined || part[field] === name[field]);
}
