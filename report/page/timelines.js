// (3) The step as it is predicted, of this plan or another one, or as it was measured. Payloads are decoded
// one after the other: what is looked at first comes first.

async function decodeTimeline(timeline) {
  return decodePayload(document.getElementById(timeline.id), timeline);
}

/** Two places, one above the other, so that predicted and measured can be compared; the second may be empty. */
function makePlace(page, timelines, boxesOf, first) {
  const holder = make('div', {class: 'timeline-place'});
  const made = new Map();
  const show = async (index) => {
    if (index < 0) {
      holder.replaceChildren();
      return;
    }
    if (!made.has(index)) {
      const container = make('div', {class: 'timeline-holder'});
      holder.replaceChildren(container);
      const boxes = await boxesOf(index);
      made.set(index, {container, timeline: new Timeline(container, timelines[index], boxes, {})});
      page.timelines.push(made.get(index).timeline);
    }
    holder.replaceChildren(made.get(index).container);
  };
  return {holder, show, first};
}

function timelineSection(data, page) {
  const timelines = data.timelines ?? [];
  if (timelines.length === 0) return null;
  const decoded = timelines.map(() => null);
  const boxesOf = (index) => decoded[index] ??= decodeTimeline(timelines[index]);
  const titles = timelines.map(({title}) => title);
  const measured = timelines.findIndex(({what}) => what === 'measured');
  const above = makePlace(page, timelines, boxesOf);
  const below = makePlace(page, timelines, boxesOf);
  const choices = timelines.length < 2 ? null : make('p', {class: 'choices'},
      makeSelect('Show', titles, 0, above.show),
      makeSelect('and below it', ['nothing', ...titles], measured > 0 ? measured + 1 : 0,
          (index) => below.show(index - 1)));
  page.timelinesShown = (async () => {
    // The sections below are laid out first: they wait for what is decoded here.
    await null;
    await above.show(0);
    if (measured > 0) await below.show(measured);
    for (const [index, timeline] of timelines.entries()) {
      page.dispatchEvent(new CustomEvent('decoded', {detail: {timeline, boxes: await boxesOf(index)}}));
    }
  })();
  return makeSection('timeline', 'One step', null, choices, above.holder, below.holder);
}
