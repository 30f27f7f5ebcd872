// Reads the data of this report and lays out its sections in reading order.

/** What sections share: the plans there are, and which of them was picked to be compared. */
class Page extends EventTarget {
  constructor(data) {
    super();
    this.plans = allPlans(data);
    this.address = new Address();
    this.picked = this.pickOfAddress();
    this.timelines = [];
    // What has to wait until the page has its width.
    this.whenLaidOut = async () => {};
  }

  /** The plan that is compared with the first one: the second where the address names none. */
  pickOfAddress() {
    const place = this.address.index('plan', this.plans.length + 1);
    return place ? place - 1 : Math.max(0, Math.min(1, this.plans.length - 1));
  }

  pick(index) {
    this.picked = index;
    this.address.set({plan: index + 1});
    this.dispatchEvent(new Event('pick'));
  }
}

const kSections = [
  ['Answer', verdictSection],
  ['Step', timelineSection],
  ['Plans', plansSection],
  ['Memory', memorySection],
  ['Time', bubbleSection],
  ['Trade-offs', paretoSection],
  ['GPUs', staircaseSection],
  ['Comparison', comparisonSection],
  ['Measured', validationSection],
  ['Assumptions', assumptionsSection],
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

function sectionsOf(data) {
  if (data.morph) return kMorphSections;
  if (data.dynamic) return kDynamicSections;
  return data.multi ? kMultiSections : kSections;
}

function layOut(data, page) {
  const main = document.getElementById('main');
  const contents = document.getElementById('contents');
  for (const [name, makeIt] of sectionsOf(data)) {
    const section = makeIt(data, page);
    if (!section) continue;
    main.append(section);
    contents.append(make('a', {href: `#${section.id}`}, name));
  }
  fillFooter(document.getElementById('colophon'), data);
  contents.append(make('a', {href: '#colophon'}, 'Commands'));
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
  page.address.follow(() => {
    page.pick(page.pickOfAddress());
    page.dispatchEvent(new Event('address'));
    page.address.goToSection();
  });
  window.penstock.ready = page.whenLaidOut().then(() => {
    page.address.goToSection();
    return true;
  });
}

showReport();
