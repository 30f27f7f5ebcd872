// (2) The step as it is predicted, of this plan or another one, and as it was measured. Payloads are decoded
// one after the other, and what is looked at first comes first.

/** A place for one timeline. A payload that cannot be read is said here, and the rest of the page stands. */
class TimelinePlace {
  constructor(page, timelines, boxesOf) {
    this.holder = make('div', {class: 'timeline-place'});
    this.page = page;
    this.timelines = timelines;
    this.boxesOf = boxesOf;
    this.made = new Map();
    this.timeline = null;  // the one that is shown
  }

  /** Shows the timeline of this index; of -1 none. */
  async show(index) {
    this.holder.replaceChildren();
    this.timeline = null;
    if (index < 0) return;
    if (!this.made.has(index)) this.made.set(index, await this.makeTimeline(index));
    const {container, timeline} = this.made.get(index);
    this.holder.replaceChildren(container);
    this.timeline = timeline;
  }

  async makeTimeline(index) {
    try {
      const boxes = await this.boxesOf(index);
      // In the page before it is drawn: it is as wide as the page.
      const container = make('div');
      this.holder.replaceChildren(container);
      const timeline = new Timeline(container, this.timelines[index], boxes);
      this.page.timelines.push(timeline);
      return {container, timeline};
    } catch (error) {
      const said = `This timeline cannot be shown: ${error.message}`;
      return {container: make('p', {class: 'problem', role: 'alert'}, said), timeline: null};
    }
  }
}

/** Boxes of every timeline, decoded once. */
function boxesOnce(timelines) {
  const decoded = timelines.map(() => null);
  return (index) => decoded[index] ??=
      decodePayload(document.getElementById(timelines[index].id), timelines[index]);
}

/** Tells the sections whose numbers stand in the payloads. */
async function announceBoxes(page, timelines, boxesOf) {
  for (const [index, timeline] of timelines.entries()) {
    // Where one cannot be read, its place says so.
    const boxes = await boxesOf(index).catch(() => null);
    if (boxes) page.dispatchEvent(new CustomEvent('decoded', {detail: {timeline, boxes}}));
  }
}

/** The box with this name on this rank; kNoBox where there is none. */
function boxNamed(json, boxes, name, rank) {
  for (const row of json.rows) {
    if (String(row.rank) !== rank) continue;
    for (let box = row.first; box < row.first + row.count; ++box) {
      if (boxName(json, boxes, box) === name) return box;
    }
  }
  return kNoBox;
}

/** What it shows as the page opens: beside a longer one the whole step goes to the end of that. */
function openingOf({opening: {t0, t1}, length, extent}) {
  return {t0, t1: t1 < length ? t1 : extent};
}

/** What of a timeline stands in the page's address; absent where it is as the page opens. */
function addressOfTimeline(timeline) {
  const {json, boxes, window: {t0, t1}, selected} = timeline;
  const opening = openingOf(timeline);
  const moved = Math.abs(t0 - opening.t0) > 1 || Math.abs(t1 - opening.t1) > 1;
  const ns = (tick) => (moved ? Math.round(tick * json.tick_ns) : null);
  return {
    from_ns: ns(t0), to_ns: ns(t1),
    box: selected === kNoBox ? null : boxName(json, boxes, selected),
    rank: selected === kNoBox ? null : json.rows[boxes.row[selected]].rank,
  };
}

/** Shows what the address says; what makes no sense there is passed over. */
function showAddress(timeline, address) {
  // All is read before anything moves, since each move is written down.
  const [box, rank, from, to] = ['box', 'rank', 'from_ns', 'to_ns'].map((key) => address.get(key));
  // What the address does not say is as the page opens, whatever was shown before.
  const {t0, t1} = openingOf(timeline);
  timeline.show(t0, t1);
  timeline.select(box === null ? kNoBox : boxNamed(timeline.json, timeline.boxes, box, rank));
  if (from !== null && Number(to) > Number(from)) timeline.zoomTo(Number(from), Number(to));
}

function timelineSection(data, page) {
  const timelines = data.timelines ?? [];
  if (timelines.length === 0) return null;
  const boxesOf = boxesOnce(timelines);
  const [above, below] = [0, 1].map(() => new TimelinePlace(page, timelines, boxesOf));
  const titles = timelines.map(({title}) => title);
  const {address} = page;
  const measured = timelines.findIndex(({what}) => what === 'measured');
  const chosen = {
    above: address.index('above', timelines.length) ?? 0,
    below: address.get('below') === 'nothing' ? -1 : address.index('below', timelines.length) ?? Math.max(-1, measured),
  };
  const started = {...chosen};
  // Two are compared on one scale of time: what one shows, the other shows.
  const show = async (place, index) => {
    await place.show(index);
    if (above.timeline) above.timeline.changed = () => {};
    above.timeline?.link(below.timeline);
    keepAddress();
  };
  const keepAddress = () => {
    if (above.timeline) above.timeline.changed = () => address.set(addressOfTimeline(above.timeline));
  };
  const choose = (name, place) => (index) => {
    chosen[name] = index;
    address.set({[name]: index < 0 ? 'nothing' : index});
    return show(place, index);
  };
  page.whenLaidOut = async () => {
    await show(above, started.above);
    await show(below, started.below);
    if (above.timeline) showAddress(above.timeline, address);
    await announceBoxes(page, timelines, boxesOf);
  };
  page.addEventListener('address', () => above.timeline && showAddress(above.timeline, address));
  const choices = timelines.length < 2 ? null : make('p', {class: 'choices'},
      makeSelect('Show', titles, chosen.above, choose('above', above)),
      makeSelect('and below it', ['nothing', ...titles], chosen.below + 1,
          (index) => choose('below', below)(index - 1)));
  return make('section', {id: 'timeline', 'aria-labelledby': 'timeline-heading'},
      make('div', {class: 'section-head'}, make('h2', {id: 'timeline-heading'}, 'One step'), choices),
      above.holder, below.holder);
}
