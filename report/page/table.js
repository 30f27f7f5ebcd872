// Tables: sortable by every column, exact in `data` elements, and as JSON or CSV files.
//
// A column is {key, title, value(row), text(value, row)?, numeric?, node(value, row)?, mark(row)?}. `value` is
// what sorts and what files hold; `text`, `node` and `mark` (a class) say how it looks; an absent value is a dash.

// Longer tables show a part until they are asked for all: a browser lays out 50,000 rows for seconds.
const kRowsAtFirst = 300;

/** What stands in the cell. */
function cellContent(column, row) {
  const value = column.value(row);
  if (isAbsent(value)) return '\u2013';
  if (column.node) return column.node(value, row);
  const text = column.text ? column.text(value, row) : String(value);
  return typeof value === 'number' ? makeNumber(value, text) : text;
}

function makeCell(column, row, isFirst) {
  const names = [column.numeric ? 'number' : column.class, column.mark?.(row)].filter(Boolean);
  const attributes = {class: names.length > 0 ? names.join(' ') : null};
  return isFirst ? make('th', {...attributes, scope: 'row'}, cellContent(column, row))
                 : make('td', attributes, cellContent(column, row));
}

function makeRow(columns, row, rowAttributes) {
  return make('tr', rowAttributes ? rowAttributes(row) : {},
      columns.map((column, index) => makeCell(column, row, index === 0)));
}

/** Absent values come last in either direction; equal ones keep the order of the data. */
function compareCells(a, b, direction) {
  if (isAbsent(a) || isAbsent(b)) return isAbsent(a) - isAbsent(b);
  if (a === b) return 0;
  return a < b ? -direction : direction;
}

function sortedRows(rows, column, direction) {
  const keyed = rows.map((row) => ({row, key: column.value(row)}));
  keyed.sort((a, b) => compareCells(a.key, b.key, direction));
  return keyed.map(({row}) => row);
}

/** One `tbody` a row where rows have details, so that sorting keeps them together. */
function fillBodies(table, columns, rows, {detail, rowAttributes}) {
  for (const body of [...table.tBodies]) body.remove();
  if (!detail) {
    table.append(make('tbody', {}, rows.map((row) => makeRow(columns, row, rowAttributes))));
    return;
  }
  for (const row of rows) {
    table.append(make('tbody', {}, makeRow(columns, row, rowAttributes),
        make('tr', {class: 'detail'}, make('td', {colspan: columns.length}, detail(row)))));
  }
}

function makeHeader(column, sort) {
  const title = column.abbreviates
      ? make('abbr', {title: column.abbreviates}, column.title) : column.title;
  return make('th', {scope: 'col', class: column.numeric ? 'number' : null,
                     'aria-sort': sort ? 'none' : null},
      sort ? make('button', {type: 'button', class: 'sort', on: {click: sort}}, title) : title);
}

/**
 * A table in a box that scrolls. Options: sortable, detail(row) for a second line, rowAttributes(row),
 * visibleCaption.
 */
function makeTable(caption, columns, rows, options = {}) {
  let order = rows;
  let all = rows.length <= kRowsAtFirst;
  const more = make('button', {type: 'button', class: 'more', on: {click: () => showAll()}},
      `Show all ${countText(rows.length)} rows`);
  const head = make('tr', {}, columns.map((column, index) =>
      makeHeader(column, options.sortable && (() => sortBy(index)))));
  const table = make('table', {},
      make('caption', {class: options.visibleCaption ? null : 'visually-hidden'}, caption),
      make('thead', {}, head));
  const fill = () => fillBodies(table, columns, all ? order : order.slice(0, kRowsAtFirst), options);
  const showAll = () => {
    all = true;
    more.remove();
    fill();
  };
  const sortBy = (index) => {
    const ascending = head.cells[index].getAttribute('aria-sort') !== 'ascending';
    order = sortedRows(rows, columns[index], ascending ? 1 : -1);
    for (const cell of head.cells) cell.setAttribute('aria-sort', 'none');
    head.cells[index].setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    fill();
    announce(`Sorted by ${columns[index].title}, ${ascending ? 'ascending' : 'descending'}`);
  };
  fill();
  // Focusable, so that the keyboard can scroll it.
  return make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption}, table,
      all ? null : more);
}

/** Rows as objects by column key. */
function rowsAsObjects(columns, rows) {
  return rows.map((row) =>
      Object.fromEntries(columns.map((column) => [column.key, column.value(row) ?? null])));
}

/** RFC 4180: lines end in CR LF, quotes are doubled. */
function rowsAsCsv(columns, rows) {
  const cell = (value) => {
    const text = isAbsent(value) ? '' : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map((column) => cell(column.key)),
    ...rows.map((row) => columns.map((column) => cell(column.value(row))))];
  return lines.map((line) => line.join(',') + '\r\n').join('');
}

/** The browser's own way to save text that exists only here. */
function saveAs(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  make('a', {href: url, download: name}).click();
  // The download has its own hold on the data once it has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function makeSaveButtons(name, columns, rows) {
  const button = (label, extension, type, text) =>
      make('button', {type: 'button', 'aria-label': `Save ${name} as ${label}`,
                      on: {click: () => saveAs(`${name}.${extension}`, type, text())}}, label);
  return make('p', {class: 'actions'}, 'Save as ',
      button('JSON', 'json', 'application/json',
          () => JSON.stringify(rowsAsObjects(columns, rows), null, 1) + '\n'), ' ',
      button('CSV', 'csv', 'text/csv', () => rowsAsCsv(columns, rows)));
}

/** The numbers of a chart, folded away; made when first looked at. `makeRows` gives them then. */
function makeNumbers(name, caption, columns, makeRows) {
  const details = make('details', {class: 'numbers', 'data-name': name},
      make('summary', {}, `${caption}: the numbers`));
  details.addEventListener('toggle', () => {
    const rows = makeRows();
    details.append(makeTable(caption, columns, rows, {sortable: true}),
        makeSaveButtons(name, columns, rows));
  }, {once: true});
  return details;
}
