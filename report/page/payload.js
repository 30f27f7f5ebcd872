// The boxes of a timeline, from the page into typed arrays. In the file they are base64 of gzip of arrays by
// falling element size, little endian: so views need no copy, and zeros that repeat cost nothing.

const kNoMicroBatch = 0xffffffff;
const kNoBox = 0xffffffff;
const kOnCriticalPath = 1;
// A forward and a backward that ran as one are in the file under the first one's kind.
const kPair = 'OVERLAP_F_B';

// In the order of the file; of "boxes" there is one element per box, of "points" one per point of memory.
const kPayloadArrays = [
  ['bytes', Float64Array, 'boxes'],
  ['stash', Float64Array, 'points'],
  ['start', Uint32Array, 'boxes'],
  ['duration', Uint32Array, 'boxes'],
  ['microBatch', Uint32Array, 'boxes'],
  ['waitedFor', Uint32Array, 'boxes'],
  ['pointTime', Uint32Array, 'points'],
  ['row', Uint16Array, 'boxes'],
  ['stage', Uint16Array, 'boxes'],
  ['kind', Uint8Array, 'boxes'],
  ['flags', Uint8Array, 'boxes'],
];

/**
 * @typedef {object} Boxes one element per box: times in ticks of `tick_ns`
 * @property {number} count @property {string[]} kinds names; `kind` is an index into them
 * @property {Float64Array} bytes @property {Float64Array} stash
 * @property {Uint32Array} start @property {Uint32Array} duration
 * @property {Uint32Array} microBatch kNoMicroBatch where there is none
 * @property {Uint32Array} waitedFor the box whose end let this one start, or kNoBox
 * @property {Uint32Array} pointTime @property {Uint16Array} row @property {Uint16Array} stage
 * @property {Uint8Array} kind @property {Uint8Array} flags kOnCriticalPath or 0
 */

/**
 * @param {Element} element the script element that holds the payload
 * @param {object} timeline its entry in the page's data
 * @returns {Promise<Boxes>} rejected with a sentence where the payload is not what the data announce
 */
async function decodePayload(element, timeline) {
  const buffer = await gunzip(bytesOfBase64(element.textContent));
  return boxesOfBuffer(buffer, timeline);
}

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

function gunzip(bytes) {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(inflated).arrayBuffer();
}

/** The arrays of an inflated payload: views of `buffer`. */
function boxesOfBuffer(buffer, timeline) {
  const counts = {boxes: timeline.boxes, points: memoryPoints(timeline)};
  const expected = kPayloadArrays.reduce(
      (sum, [, type, of]) => sum + type.BYTES_PER_ELEMENT * counts[of], 0);
  if (buffer.byteLength !== expected) {
    throw new Error(`${timeline.id}: ${buffer.byteLength} bytes instead of ${expected}: ` +
        'this file was cut short or changed; make the report again');
  }
  const boxes = {count: counts.boxes};
  let offset = 0;
  for (const [name, type, of] of kPayloadArrays) {
    boxes[name] = new type(buffer, offset, counts[of]);
    offset += boxes[name].byteLength;
  }
  return {...boxes, kinds: kindsWithPairs(boxes.kind, timeline)};
}

/** Gives pairs that ran as one a kind of their own, so that no share of time counts them as forwards alone. */
function kindsWithPairs(kind, {kinds, overlaps = {}}) {
  const pairs = Object.keys(overlaps);
  if (pairs.length === 0) return kinds;
  for (const box of pairs) kind[box] = kinds.length;
  return [...kinds, kPair];
}

function memoryPoints(timeline) {
  return (timeline.memory ?? []).reduce((sum, rank) => sum + rank.count, 0);
}
