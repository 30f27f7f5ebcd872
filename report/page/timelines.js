// (3) The step as it is predicted, of this plan or another one, and as it was measured. Payloads are decoded
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

function timelineSection(data, page) {
  const timelines = data.timelines ?? [];
  if (timelines.length === 0) return null;
  const boxesOf = boxesOnce(timelines);
  const [above, below] = [0, 1].map(() => new TimelinePlace(page, timelines, boxesOf));
  const titles = timelines.map(({title}) => title);
  const measured = timelines.findIndex(({what}) => what === 'measured');
  const second = measured > 0 ? measured : -1;
  // Two are compared on one scale of time: what one shows, the other shows.
  const show = async (place, index) => {
    await place.show(index);
    above.timeline?.link(below.timeline);
  };
  page.whenLaidOut = async () => {
    await show(above, 0);
    await show(below, second);
    await announceBoxes(page, timelines, boxesOf);
  };
  const choices = timelines.length < 2 ? null : make('p', {class: 'choices'},
      makeSelect('Show', titles, 0, (index) => show(above, index)),
      makeSelect('and below it', ['nothing', ...titles], second + 1, (index) => show(below, index - 1)));
  return makeSection('timeline', 'One step', null, choices, above.holder, below.holder);
}
