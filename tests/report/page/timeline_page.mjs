// A page with nothing but a timeline, made of the report's own files.
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

const kStyles = ['page.css', 'timeline.css'];
// In the order in which they stand in the report.
const kScripts = ['payload.js', 'levels.js', 'format.js', 'table.js', 'plan_words.js', 'timeline_words.js', 'timeline_layout.js',
                  'timeline_colours.js', 'timeline_facts.js', 'timeline_opening.js', 'timeline_memory.js', 'timeline_painter.js', 'timeline_input.js',
                  'timeline_elements.js', 'timeline.js'];

export function readPart(source, name) {
  return readFileSync(join(source, 'report', 'page', name), 'utf8');
}

/** The functions of some of the page's scripts, to be called without a page. */
export async function importScripts(source, names, exported) {
  const text = names.map((name) => readPart(source, name)).join('\n') + `\nexport {${exported.join(', ')}};\n`;
  return import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
}

// How long it takes from decoded data to a picture: the last read forces everything drawn before it.
const kMain = `
const json = JSON.parse(document.getElementById('report-data').textContent);
document.documentElement.dataset.theme = new URLSearchParams(location.search).get('theme') ?? 'light';
countText(1e6);  // the first number costs what language data cost; in a report the verdict has paid for it
const began = performance.now();
const boxes = await decodePayload(document.getElementById(json.id), json);
const decoded = performance.now();
const timeline = new Timeline(document.getElementById('main'), json, boxes);
const context = timeline.canvas.getContext('2d');
context.getImageData(0, 0, 1, 1);
const painted = performance.now();
window.Timeline = Timeline;
window.test = {timeline, json, boxes, decodeMs: decoded - began, firstPaintMs: painted - decoded};
`;

/** @returns {string} HTML */
export function pageOf(source, {json, payload}) {
  const styles = kStyles.map((name) => readPart(source, name)).join('\n');
  const scripts = kScripts.map((name) => readPart(source, name)).join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>timeline</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<link rel="icon" href="data:,">
<style>${styles}</style></head>
<body><main id="main"></main><p id="announcer" class="visually-hidden" role="status" aria-live="polite"></p>
<script type="application/json" id="report-data">${JSON.stringify(json).replaceAll('<', '\\u003c')}</script>
<script type="application/octet-stream" id="${json.id}">${payload}</script>
<script type="module">
${scripts}
${kMain}
</script></body></html>`;
}
