// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

import {LETTERS, formatCount, formatRange} from './model.js';
import {ago, element, make} from './dom.js';

/** How many records are listed at most. */
const MOST = 50;

/** Describes what is chosen, beside the picture. @param {Object|null} box */
export function describe(box) {
  element('details').replaceChildren(...(box === null ? nothing() : box.kind === 'pool' ? ofPool(box.area) : ofRange(box)));
}

function nothing() {
  return [make('h2', 'Details'), make('p', 'Click a bar, walk with the arrow keys, or press / to search. ? lists all keys.')];
}

function ofPool(area) {
  const {pool} = area;
  const lines = [make('h2', pool.title), make('p', `${pool.block || 'no addresses yet'}: ${pool.state}${pool.message ? ', ' + pool.message : ''}`)];
  const add = (text) => lines.push(make('p', text));
  if (pool.capacity) {
    const {total, allocated, available, delegated, cooling, excluded} = pool.capacity;
    add(`${available || '?'} of ${total || '?'} addresses free; ${allocated || 0} held, ${delegated || 0} carved, ${cooling || 0} cooling, ${excluded || 0} excluded`);
  }
  if (pool.carvedFrom) add(`carved from ${pool.carvedFrom}`);
  if (pool.cluster) add(`Cluster ${pool.cluster}`);
  if (pool.member) add(`delegated to ${pool.member}`);
  if (pool.unlisted) add(`${pool.unlisted} records are not in this file: it would be too large.`);
  for (const kept of pool.kept || []) add(`kept: ${kept.prefix} for ${kept.for}`);
  if (area.children.length > 0) {
    add('Pools carved from it:');
    lines.push(make('ul', '', {}, area.children.map((child) => make('li', `${child.pool.title} ${child.pool.block || ''}`))));
  }
  return lines;
}

function ofRange(box) {
  const {area} = box;
  const bin = box.kind === 'bin' ? `${box.merged} ranges, ${Math.round(box.use * 100)}% in use, at worst ` : '';
  const lines = [
    make('h2', formatRange(box.from, box.to, area.bits)),
    make('p', `${bin}${LETTERS[box.letter][0]}, ${formatCount(box.to - box.from + 1n)}`),
    make('p', `in ${area.pool.title}`),
  ];
  const found = area.recordsIn(box.from, box.to);
  if (found.length > 0) lines.push(make('ul', '', {}, found.map((i) => make('li', recordText(area, area.record(i))))));
  if (found.length === MOST) lines.push(make('p', 'and more; zoom in to see them'));
  const commands = [`kubectl weir who ${formatRange(box.from, box.from, area.bits)}`];
  if (found.length === 1 && box.letter === 'h') {
    const {namespace, name} = area.record(found[0]);
    const short = name.slice(namespace.length + 1);
    if (/^[-a-z0-9.]+$/.test(short)) commands.push(`kubectl weir why -n ${namespace} claim/${short}`);
  }
  return [...lines, ...commands.map((command) => make('p', '', {}, [make('code', command)]))];
}

function recordText(area, record) {
  return `${formatRange(record.from, record.to, area.bits)} ${LETTERS[record.letter][0]} for ${ago(record.since)}: ${record.kind} ${record.name}` +
    (record.machine ? `, Machine ${record.machine}` : '') + (record.cluster ? ` of Cluster ${record.cluster}` : '');
}
