// Colours of a timeline: read from CSS, so that themes are a matter of style sheets alone.

/**
 * @typedef {object} Colours each as {css, packed, red, green, blue}; `ink` per kind is black or white
 */

/** Reads --kind-NAME and the --timeline-* colours as they hold for `element`. */
function readColours(element, kinds) {
  const reader = new ColourReader(element);
  const of = (name) => reader.read(`var(--timeline-${name})`);
  const colours = {
    kinds: kinds.map((kind) => reader.read(`var(--kind-${kind}, var(--kind-other))`)),
    ground: of('ground'),
    lane: of('lane'),
    text: of('text'),
    faint: of('faint'),
    grid: of('grid'),
    path: of('path'),
    mark: of('mark'),
    memory: {lane: of('lane'), limit: reader.read('var(--bad)')},
  };
  for (const {name} of kMemoryParts) colours.memory[name] = reader.read(`var(--memory-${name})`);
  colours.ink = colours.kinds.map(inkOn);
  // Where a wide box begins: neighbours of one kind stay apart.
  colours.edges = colours.kinds.map((colour) => mixed(colour, colours.lane));
  reader.done();
  return colours;
}

function mixed(a, b) {
  const part = (name) => 0.55 * a[name] + 0.45 * b[name];
  return packColour(part('red'), part('green'), part('blue'));
}

/** Whatever notation a style sheet uses, a pixel of a canvas shows it as red, green and blue. */
class ColourReader {
  constructor(element) {
    this.probe = document.createElement('span');
    this.probe.hidden = true;
    element.append(this.probe);
    this.context = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  }

  read(css) {
    this.probe.style.color = css;
    const computed = getComputedStyle(this.probe).color;
    this.context.clearRect(0, 0, 1, 1);
    this.context.fillStyle = computed;
    this.context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = this.context.getImageData(0, 0, 1, 1).data;
    return {css: computed, packed: packColour(red, green, blue), red, green, blue};
  }

  done() {
    this.probe.remove();
  }
}

/** As image data hold it on little-endian machines, opaque. */
function packColour(red, green, blue) {
  return (0xff000000 | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}

/** Black or white, whichever is easier to read on the colour: its contrast is at least 4.5. */
function inkOn({red, green, blue}) {
  const linear = (byte) => (byte <= 10 ? byte / 3294 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  return (luminance + 0.05) ** 2 > 1.05 * 0.05 ? '#000' : '#fff';
}

/**
 * Mixes the shares of a row's columns into pixels: each kind by what it covers, the lane's colour by the rest.
 * @param {Cover} cover @param {Uint32Array} pixels `cover.columns` of them from `at` on
 */
function mixColumns(cover, colours, pixels, at) {
  const {share, kinds, columns} = cover;
  const {lane} = colours;
  for (let column = 0, i = 0; column < columns; ++column, i += kinds) {
    let busy = 0, red = 0, green = 0, blue = 0;
    for (let kind = 0; kind < kinds; ++kind) {
      const part = share[i + kind];
      if (part === 0) continue;
      const colour = colours.kinds[kind];
      busy += part;
      red += part * colour.red;
      green += part * colour.green;
      blue += part * colour.blue;
    }
    if (busy === 0) {
      pixels[at + column] = lane.packed;
      continue;
    }
    const idle = Math.max(0, 1 - busy);
    pixels[at + column] = packColour(
        Math.min(255, red + idle * lane.red), Math.min(255, green + idle * lane.green),
        Math.min(255, blue + idle * lane.blue));
  }
}
