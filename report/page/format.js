// Numbers in words, as the terminal's tables have them, and elements that hold text as text: names in
// the data are users' text, so nothing here goes through innerHTML.

const kNoBreak = '\u00a0';
const kMinus = '\u2212';

/** A line ends in front of a number, not between it and its unit. */
function withUnits(text) {
  return text.replace(/(\d) (s|ms|us|ns|min|h|days|%|GiB|MiB|TFLOP\/s)(?![a-z])/g, `$1${kNoBreak}$2`);
}

/** Four digits: 4.688, 95.14, 149.1; thousands are grouped. */
function fourDigits(value) {
  return Math.abs(value) < 1e4 ? value.toPrecision(4) : countText(Math.round(value));
}

function countText(value) {
  return value.toLocaleString('en-US', {maximumFractionDigits: 0});
}

/** Nanoseconds as "4.688 s", "95.14 ms", "12.00 us" or "7 ns". */
function durationText(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return fourDigits(ns / 1e9) + kNoBreak + 's';
  if (size >= 1e6) return fourDigits(ns / 1e6) + kNoBreak + 'ms';
  if (size >= 1e3) return fourDigits(ns / 1e3) + kNoBreak + 'us';
  return Math.round(ns) + kNoBreak + 'ns';
}

/** Bytes as "35.8 GiB". Small ones keep a unit in which they are not zero. */
function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const size = Math.abs(bytes);
  let unit = 0;
  // From 0.1 GiB on in GiB: memory of one device is compared in one unit.
  while (unit + 1 < units.length && size >= (unit === 2 ? 0.1 : 1) * 1024 ** (unit + 1)) ++unit;
  const digits = unit === 0 ? 0 : 1;
  return (bytes / 1024 ** unit).toFixed(digits) + kNoBreak + units[unit];
}

function percentText(share) {
  return (100 * share).toFixed(1) + kNoBreak + '%';
}

function dollarsText(usd) {
  return '$' + (Math.abs(usd) < 1e4 ? usd.toPrecision(4) : countText(usd));
}

/** With its sign, and a sign even where nothing changed: "+3.1 %", "\u22120.4 GiB", "\u00b10". */
function signedText(value, text) {
  if (value === 0) return '\u00b10';
  return (value > 0 ? '+' : kMinus) + text(Math.abs(value));
}

/** From 31 to 32 GPUs: "+3.2 %"; nothing can be said of a change from zero. */
function relativeText(from, to) {
  return from === 0 ? '\u2013' : signedText(to / from - 1, percentText);
}

/** "1 step", "3 steps". */
function countOf(count, what) {
  return `${countText(count)} ${what}${count === 1 ? '' : 's'}`;
}

/** True for what the data do not say. */
function isAbsent(value) {
  return value === undefined || value === null;
}

/**
 * An element. `on` holds listeners, all else is an attribute (false and absent ones are left out);
 * children are elements or text, absent ones are left out, too.
 */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (!isAbsent(value) && value !== false) {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  node.append(...children.flat().filter((child) => !isAbsent(child) && child !== false));
  return node;
}

/** A number as people read it, and exactly as it is in the data. */
function makeNumber(value, text) {
  return make('data', {value: String(value)}, text);
}

/** A section of the report with its heading; `lead` is the finding in a sentence. */
function makeSection(id, title, lead, ...children) {
  return make('section', {id, 'aria-labelledby': `${id}-heading`},
      make('h2', {id: `${id}-heading`}, title),
      lead ? make('p', {class: 'lead'}, lead) : null, ...children);
}

/** A labelled choice; `choose` is called with the index of what was chosen. */
function makeSelect(label, options, chosen, choose) {
  const select = make('select', {on: {change: () => choose(select.selectedIndex)}},
      options.map((text, index) => make('option', {selected: index === chosen}, text)));
  return make('label', {class: 'choice'}, make('span', {}, label), select);
}

/** Says something to those who do not see what changed. */
function announce(text) {
  document.getElementById('announcer').textContent = text;
}
