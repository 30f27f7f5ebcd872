// Reads the data of this report and lays out its sections in reading order.

/** What sections share: the plans there are, and which of them was picked to be compared. */
class Page extends EventTarget {
  constructor(data) {
    super();
    this.plans = allPlans(data);
    this.picked = this.plans.length > 1 ? 1 : 0;
    this.timelines = [];
    // What has to wait until the page has its width.
    this.whenLaidOut = async () => {};
  }

  pick(index) {
    this.picked = index;
    this.dispatchEvent(new Event('pick'));
  }
}

const kSections = [
  ['Verdict', verdictSection],
  ['Plans', plansSection],
  ['Timeline', timelineSection],
  ['Memory', memorySection],
  ['Time', bubbleSection],
  ['Pareto', paretoSection],
  ['GPUs', staircaseSection],
  ['Comparison', comparisonSection],
  ['Validation', validationSection],
  ['Numbers', numbersSection],
];

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById('theme').setAttribute('aria-pressed', String(theme === 'dark'));
  paintCharts();
}

/** The system's theme until the button is used; paper is light. Nothing is stored. */
function followTheme() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const theme = () => chosen ?? (system.matches ? 'dark' : 'light');
  document.getElementById('theme').addEventListener('click', () => {
    chosen = theme() === 'dark' ? 'light' : 'dark';
    showTheme(theme());
  });
  system.addEventListener('change', () => showTheme(theme()));
  addEventListener('beforeprint', () => showTheme('light'));
  addEventListener('afterprint', () => showTheme(theme()));
  showTheme(theme());
}

function layOut(data, page) {
  const main = document.getElementById('main');
  const contents = document.getElementById('contents');
  for (const [name, makeIt] of kSections) {
    const section = makeIt(data, page);
    if (!section) continue;
    main.append(section);
    contents.append(make('a', {href: `#${section.id}`}, name));
  }
  document.getElementById('colophon').append(
      make('p', {}, `Written by ${data.tool}. This file holds everything and loads nothing.`));
}

function showReport() {
  const data = JSON.parse(document.getElementById('report-data').textContent);
  const page = new Page(data);
  // Of several timelines the one that is seen first.
  const shown = () => page.timelines.find((timeline) => timeline.canvas.isConnected);
  window.penstock = {
    data,
    timelines: page.timelines,
    hitTest: (x, y) => shown()?.hitTest(x, y),
    visibleRange: () => shown()?.visibleRange(),
  };
  followTheme();
  layOut(data, page);
  paintCharts();
  window.penstock.ready = page.whenLaidOut().then(() => true);
}

showReport();
