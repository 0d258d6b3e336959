// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

import {LETTERS, className, formatAddress} from './model.js';
import {make} from './dom.js';

/** At so many addresses in sight or fewer the grid shows each. */
export const MOST_CELLS = 1024n;
/** What is shown around an address of a larger pool. */
const WINDOW = 256n;

/**
 * @typedef {import('./model.js').Area} Area
 * @typedef {Object} Scope Addresses of a pool.
 * @property {Area} area
 * @property {bigint} from
 * @property {bigint} to
 */

/**
 * Returns what the grid shows: a small pool, else the part of it in sight, else the surroundings of what is chosen.
 *
 * @param {{kind: string, area: Area, from: bigint, to: bigint}|null} chosen
 * @param {Scope|null} sight What is in sight, if it is of one pool.
 * @returns {Scope|null} Null if that is too much.
 */
export function scopeOf(chosen, sight) {
  const area = chosen ? chosen.area : sight?.area;
  if (!area || area.ranges.length === 0) return null;
  const within = (from, to) => ({area, from: from > area.from ? from : area.from, to: to < area.to ? to : area.to});
  if (area.size <= MOST_CELLS && area.to - area.from < 64n * MOST_CELLS) return within(area.from, area.to);
  const isInSight = sight && sight.area === area && sight.to - sight.from < MOST_CELLS;
  if (isInSight && (!chosen || chosen.kind === 'pool' || (chosen.from >= sight.from && chosen.to <= sight.to))) return within(sight.from, sight.to);
  if (!chosen || chosen.kind === 'pool' || chosen.to - chosen.from >= MOST_CELLS) return null;
  const begin = chosen.from - chosen.from % WINDOW;
  return within(begin, chosen.to > begin + WINDOW - 1n ? chosen.to : begin + WINDOW - 1n);
}

/** @param {Scope} scope @param {bigint} columns @returns {bigint[]} First addresses of the rows that the pool has addresses in. */
function rowsOf({area, from, to}, columns) {
  const rows = [];
  for (const range of area.ranges) {
    const first = range.from > from ? range.from : from, last = range.to < to ? range.to : to;
    for (let row = first - first % columns; row <= last; row += columns) if (rows.at(-1) !== row) rows.push(row);
  }
  return rows;
}

/**
 * Draws the grid.
 *
 * @param {HTMLElement} host
 * @param {Scope} scope
 * @param {{columns: number, chosen: bigint|null, choose: (value: bigint) => void}} view
 */
export function drawGrid(host, scope, view) {
  const {area} = scope, columns = BigInt(view.columns);
  const rows = rowsOf(scope, columns);
  const table = make('table', '', {role: 'grid', 'aria-label': `Addresses of ${area.pool.title}`});
  for (const row of rows) {
    const line = make('tr', '', {}, [make('th', formatAddress(row < area.from ? area.from : row, area.bits), {scope: 'row'})]);
    for (let value = row; value < row + columns; value++) {
      line.append(value < scope.from || value > scope.to ? make('td', '', {class: 'none'}) : cellOf(area, value));
    }
    table.append(line);
  }
  host.replaceChildren(table);
  mark(host, view.chosen);
  table.addEventListener('click', (event) => {
    const cell = event.target.closest('td[data-at]');
    if (cell) view.choose(BigInt(cell.dataset.at));
  });
  table.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -view.columns, ArrowDown: view.columns}[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const target = BigInt(event.target.dataset.at) + BigInt(step);
    if (!table.querySelector(`td[data-at="${target}"]`)) return;
    view.choose(target);
    host.querySelector(`td[data-at="${target}"]`)?.focus();
  });
}

/** Marks the chosen one of the cells; it, or else the first one, is where the Tab key leads. @param {HTMLElement} host @param {bigint|null} value */
export function mark(host, value) {
  for (const cell of host.querySelectorAll('td.chosen, td[tabindex="0"]')) {
    cell.classList.remove('chosen');
    cell.tabIndex = -1;
  }
  const at = value === null ? null : host.querySelector(`td[data-at="${value}"]`);
  at?.classList.add('chosen');
  const first = at || host.querySelector('td[data-at]');
  if (first) first.tabIndex = 0;
}

/** What is held is full, all else has a sign. */
function cellOf(area, value) {
  const letter = area.letterAt(value);
  if (letter === '') return make('td', '', {class: 'none'});
  const [word, sign] = LETTERS[letter];
  const [i] = area.recordsIn(value, value);
  const label = `${formatAddress(value, area.bits)} ${word}${i === undefined ? '' : `, ${area.record(i).kind} ${area.record(i).name}`}`;
  return make('td', letter === 'h' ? '' : sign, {class: `cell ${className(letter)}`, 'data-at': String(value), 'aria-label': label, title: label, tabindex: '-1', role: 'gridcell'});
}
