// What a timeline knows of a box, of its critical path and of a span of time, in words.

/**
 * @typedef {object} BoxFacts
 * @property {string} name @property {string} kind in words @property {object} row
 * @property {?number} stage @property {?number} microBatch null where there is none, and of a pair
 * @property {number} bytes
 * @property {number} startNs @property {number} durationNs
 * @property {number} idleNs its lane had nothing to do for so long before
 * @property {number} previous box of the lane, or kNoBox
 * @property {number} waitedFor box whose end let this one start, or kNoBox
 * @property {boolean} onPath
 */

/** @returns {BoxFacts} */
function boxFacts(timeline, boxes, box) {
  const row = timeline.rows[boxes.row[box]];
  const previous = box > row.first ? box - 1 : kNoBox;
  const idleFrom = previous === kNoBox ? 0 : boxes.start[previous] + boxes.duration[previous];
  const pair = timeline.overlaps?.[box] !== undefined;  // its name tells the stages of both
  const microBatch = boxes.microBatch[box];
  return {
    name: boxName(timeline, boxes, box),
    kind: kindWords(timeline.kinds[boxes.kind[box]]),
    row,
    stage: pair ? null : boxes.stage[box],
    microBatch: pair || microBatch === kNoMicroBatch ? null : microBatch,
    bytes: boxes.bytes[box],
    startNs: boxes.start[box] * timeline.tick_ns,
    durationNs: boxes.duration[box] * timeline.tick_ns,
    idleNs: Math.max(0, boxes.start[box] - idleFrom) * timeline.tick_ns,
    previous,
    waitedFor: boxes.waitedFor[box] < boxes.count ? boxes.waitedFor[box] : kNoBox,
    onPath: (boxes.flags[box] & kOnCriticalPath) !== 0,
  };
}

/** The boxes that started because this one ended, by index; at most `most` of them. */
function boxesLetStart(boxes, box, most) {
  const found = [];
  let next = boxes.waitedFor.indexOf(box);
  while (next >= 0 && found.length < most) {
    found.push(next);
    next = boxes.waitedFor.indexOf(box, next + 1);
  }
  return found;
}

/** For how long its lane had to wait: "its lane was idle for 12.00 ms before". */
function waitWords(facts) {
  if (facts.idleNs > 0) return `its lane was idle for ${durationText(facts.idleNs)} before`;
  return facts.waitedFor === facts.previous ? 'which ran right before it' : 'but its lane was not idle';
}

/** The same of a box of which nobody knows what it waited for. */
function unknownWaitWords(facts) {
  if (facts.startNs === 0) return 'nothing: it starts the step';
  return facts.idleNs > 0 ? `${waitWords(facts)}; the cause is not known` : 'the end of what ran before it';
}

/** A box in one sentence, for those who hear it: "3B2, rank 3, backward, 12.00 ms, starts at ...". */
function boxSentence(timeline, boxes, box, detailed) {
  const facts = boxFacts(timeline, boxes, box);
  const parts = [facts.name, rowWords(facts.row, true), facts.kind, durationText(facts.durationNs)];
  if (detailed) {
    if (facts.stage !== null) parts.push(`stage ${facts.stage}`);
    if (facts.microBatch !== null) parts.push(`micro-batch ${facts.microBatch}`);
    parts.push(`starts at ${durationText(facts.startNs)}`);
    if (facts.bytes > 0) parts.push(bytesText(facts.bytes));
  }
  if (facts.waitedFor !== kNoBox) {
    parts.push(`waited for ${boxName(timeline, boxes, facts.waitedFor)}`, waitWords(facts));
  } else if (detailed) {
    parts.push(`waited for ${unknownWaitWords(facts)}`);
  }
  if (facts.onPath) parts.push('on the critical path');
  return parts.join(', ');
}

/** Boxes of the critical path, by time. */
function criticalPath(boxes) {
  const path = [];
  for (let box = 0; box < boxes.count; ++box) {
    if (boxes.flags[box] & kOnCriticalPath) path.push(box);
  }
  return Uint32Array.from(path).sort((a, b) => boxes.start[a] - boxes.start[b] || a - b);
}

/** "Critical path: 62.1 % backward (B), 30.0 % forward (F), 7.9 % nothing runs." */
function pathWordsOf(timeline, boxes, path) {
  const length = timeline.length_ns / timeline.tick_ns;
  const sums = new Float64Array(timeline.kinds.length);
  let covered = 0;
  let end = 0;
  for (const box of path) {
    // Where boxes of the path overlap, the time counts for the first of them.
    const from = Math.max(end, boxes.start[box]);
    end = Math.max(end, boxes.start[box] + boxes.duration[box]);
    sums[boxes.kind[box]] += Math.max(0, end - from);
    covered += Math.max(0, end - from);
  }
  const parts = partsInWords(timeline, Array.from(sums, (sum) => sum / length));
  const idle = 1 - covered / length;
  if (idle > 0.0005) parts.push(`${percentText(idle)} waiting between them`);
  return `${countOf(path.length, 'action')} decide the length of the step: ${parts.join(', ')}.`;
}

/** "12.00 ms selected: 40.0 % forward (F), ..., 12.0 % idle", in the mean of the compute lanes. */
function rangeWords(timeline, boxes, {t0, t1}) {
  const rows = timeline.rows.filter(({lane}) => lane === 'compute');
  const shares = sharesOfKinds(boxes, rows, timeline.kinds.length, t0, t1);
  const parts = partsInWords(timeline, shares);
  const idle = Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0));
  const from = durationText(t0 * timeline.tick_ns);
  return `${durationText((t1 - t0) * timeline.tick_ns)} from ${from} on: ` +
      `${[...parts, `${percentText(idle)} idle`].join(', ')}; mean of the compute lanes.`;
}

// Largest first; what is less than a twentieth of a percent is left out.
function partsInWords(timeline, shares) {
  return Array.from(shares, (share, kind) => ({share, kind}))
      .filter(({share}) => share >= 0.0005)
      .sort((a, b) => b.share - a.share || a.kind - b.kind)
      .map(({share, kind}) => ({share, name: timeline.kinds[kind]}))
      .map(({share, name}) => `${percentText(share)} ${kindWords(name)} (${name})`);
}
