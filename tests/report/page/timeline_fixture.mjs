// A step under 1F1B, made here so that a test of the page knows every box of it without the program: each rank
// runs its list in order, sends take time, and what a box waited for is what its start was the end of.
import {gzipSync} from 'node:zlib';

export const kKinds = ['F', 'B', 'SEND_F', 'SEND_B', 'OPT'];
const [F, B, SEND_F, SEND_B, OPT] = kKinds.keys();
const kNone = 0xffffffff;
const kTimes = {[F]: 1000, [B]: 2000, [SEND_F]: 150, [SEND_B]: 150, [OPT]: 800};

/** Warm-up, then one forward and one backward in turn, then the drain. */
function listOf(rank, ranks, microBatches) {
  const ahead = Math.min(microBatches, ranks - 1 - rank);
  const list = [];
  for (let m = 0; m < ahead; ++m) list.push([F, m]);
  for (let m = 0; m + ahead < microBatches; ++m) list.push([F, m + ahead], [B, m]);
  for (let m = microBatches - ahead; m < microBatches; ++m) list.push([B, m]);
  list.push([OPT, kNone]);
  return list;
}

/** Runs the lists. @returns {{rank, lane, kind, microBatch, start, duration, waitedFor}[]} box objects */
function simulate(ranks, microBatches) {
  const lists = Array.from({length: ranks}, (_, rank) => listOf(rank, ranks, microBatches));
  const at = new Array(ranks).fill(0);
  const last = Array.from({length: ranks}, () => ({compute: null, sends: null}));
  const arrived = new Map();  // "rank kind micro-batch" -> the send that brings it
  const boxes = [];
  const endOf = (box) => (box ? box.start + box.duration : 0);
  const place = (rank, lane, kind, microBatch, causes) => {
    const cause = causes.reduce((late, box) => (endOf(box) > endOf(late) ? box : late), null);
    // Not all alike: a multiple of 7 of the number makes some a little slower.
    const duration = kTimes[kind] + (microBatch === kNone ? 0 : (microBatch * 7 + rank * 3) % 11);
    const box = {rank, lane, kind, microBatch, start: endOf(cause), duration, waitedFor: cause};
    last[rank][lane] = box;
    boxes.push(box);
    return box;
  };
  for (let moved = true; moved;) {
    moved = false;
    for (let rank = 0; rank < ranks; ++rank) {
      for (; at[rank] < lists[rank].length; ++at[rank], moved = true) {
        const [kind, m] = lists[rank][at[rank]];
        const needs = kind === F && rank > 0 || kind === B && rank < ranks - 1;
        const brought = arrived.get(`${rank} ${kind} ${m}`);
        if (needs && !brought) break;
        const box = place(rank, 'compute', kind, m, [last[rank].compute, brought ?? null]);
        const to = kind === F ? rank + 1 : kind === B ? rank - 1 : -1;
        if (to < 0 || to >= ranks) continue;
        const send = place(rank, 'sends', kind === F ? SEND_F : SEND_B, m, [box, last[rank].sends]);
        arrived.set(`${to} ${kind} ${m}`, send);
      }
    }
  }
  return boxes;
}

/** Marks what decided the length: from the last box back over what each waited for. */
function markPath(boxes) {
  let box = boxes.reduce((late, other) => (other.start + other.duration > late.start + late.duration ? other : late));
  for (; box; box = box.waitedFor) box.onPath = true;
}

/** @returns {{json: object, payload: string, boxes: object[]}} the timeline's entry, its payload, its boxes */
export function makeTimeline(ranks, microBatches, {id = 'timeline-0', tickNs = 1000} = {}) {
  const all = simulate(ranks, microBatches);
  markPath(all);
  const rows = [];
  const ordered = [];
  for (let rank = 0; rank < ranks; ++rank) {
    for (const lane of ['compute', 'sends']) {
      const inRow = all.filter((box) => box.rank === rank && box.lane === lane).sort((a, b) => a.start - b.start);
      rows.push({rank, pipeline_rank: rank, replicas: 16, stages: [rank], device: 'test', lane, track: 0,
                 first: ordered.length, count: inRow.length});
      for (const box of inRow) {
        box.row = rows.length - 1;
        ordered.push(box);
      }
    }
  }
  ordered.forEach((box, index) => box.index = index);
  const length = ordered.reduce((end, box) => Math.max(end, box.start + box.duration), 0);
  const json = {id, title: 'Plan 1, predicted', what: 'predicted', plan: 0, length_ns: length * tickNs,
                tick_ns: tickNs, boxes: ordered.length, kinds: kKinds, rows, memory: [], overlaps: {}};
  return {json, boxes: ordered, payload: payloadOf(ordered)};
}

function payloadOf(boxes) {
  const arrays = [
    Float64Array.from(boxes, ({lane}) => (lane === 'sends' ? 16777216 : 0)),
    Uint32Array.from(boxes, ({start}) => start),
    Uint32Array.from(boxes, ({duration}) => duration),
    Uint32Array.from(boxes, ({microBatch}) => microBatch),
    Uint32Array.from(boxes, ({waitedFor}) => waitedFor?.index ?? kNone),
    Uint16Array.from(boxes, ({row}) => row),
    Uint16Array.from(boxes, ({rank}) => rank),
    Uint8Array.from(boxes, ({kind}) => kind),
    Uint8Array.from(boxes, ({onPath}) => (onPath ? 1 : 0)),
  ];
  return gzipSync(Buffer.concat(arrays.map(({buffer}) => Buffer.from(buffer))), {level: 6}).toString('base64');
}
