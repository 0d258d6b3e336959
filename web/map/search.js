// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

import {formatRange, parsePrefix} from './model.js';
import {plural} from './dom.js';

/** How many things of a kind are found at most. */
const MOST = 12;

/**
 * @typedef {import('./model.js').Area} Area
 * @typedef {Object} Found
 * @property {string} text What people read.
 * @property {Area} area
 * @property {bigint} [from] The addresses in it; absent for the pool itself.
 * @property {bigint} [to]
 * @property {{title: string, numbers: number[]}} [records] Those of a Machine or Cluster.
 * @property {boolean} exact Whether it has the very name.
 */

/** Finds addresses, pools, Clusters, Machines and claims. */
export class Search {
  /** @param {import('./model.js').Model} model @param {Area[]} areas */
  constructor(model, areas) {
    this.model = model;
    this.areas = areas;
    /** @type {Area[]} Those with records, in the order of these. */
    this.listed = areas.filter((area) => area.pool.count > 0);
    this.lower = model.strings.map((text) => text.toLowerCase());
  }

  /** @param {number} i Number of a record. @returns {Area} The pool that it is of. */
  areaOf(i) {
    let low = 0, high = this.listed.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.listed[middle].pool.first <= i) low = middle; else high = middle - 1;
    }
    return this.listed[low];
  }

  /** @param {number} i Number of a record. @returns {boolean} Whether it is the block of a pool that is found itself. */
  isOfPool(i) {
    const area = this.areaOf(i), {from, to} = area.record(i);
    return area.carved(from, to) !== undefined;
  }

  /** @param {string} text @param {number} space That whose addresses come first. @returns {Found[]} */
  find(text, space) {
    const query = text.trim().toLowerCase();
    if (query === '') return [];
    const prefix = parsePrefix(query);
    if (prefix) return this.atAddress(prefix).sort((a, b) => (b.area.pool.space === space) - (a.area.pool.space === space));
    const found = [...this.pools(query), ...this.named(query)];
    return [...found.filter((f) => f.exact), ...found.filter((f) => !f.exact)];
  }

  /** The innermost pools that have an address. */
  atAddress({from, to, bits}) {
    const around = (area) => area.bits === bits && area.has(from, to);
    return this.areas.filter((area) => around(area) && !area.children.some(around)).map((area) => {
      const [i] = area.recordsIn(from, to);
      const holder = i === undefined ? '' : `, ${area.record(i).kind} ${area.record(i).name}`;
      const space = this.model.spaces[area.pool.space];
      return {text: `${formatRange(from, to, bits)} of ${area.pool.title} in address space ${space}${holder}`, area, from, to, exact: true};
    });
  }

  pools(query) {
    return this.areas.filter(({pool}) => pool.title.toLowerCase().includes(query) || (pool.block || '').includes(query)).slice(0, MOST)
      .map((area) => ({text: `${area.pool.title} ${area.pool.block || ''}`, area, exact: area.pool.name.toLowerCase() === query}));
  }

  /** Clusters, Machines and claims, by name or by namespace/name. */
  named(query) {
    const slash = query.indexOf('/');
    const namespace = slash < 0 ? '' : query.slice(0, slash), name = query.slice(slash + 1);
    const {records} = this.model;
    const has = this.lower.map((text) => text !== '' && text.includes(name));
    const groups = {Cluster: new Map(), Machine: new Map()};
    const claims = [];
    for (let i = 0; i < records.at.length; i++) {
      if (slash >= 0 && this.lower[records.namespace[i]] !== namespace) continue;
      for (const [kind, column] of [['Cluster', records.cluster], ['Machine', records.machine]]) {
        if (!has[column[i]]) continue;
        const key = `${records.namespace[i]} ${column[i]}`;
        const numbers = groups[kind].get(key);
        if (numbers) numbers.push(i); else groups[kind].set(key, [i]);
      }
      if (has[records.name[i]] && !(records.states[i] === 'p' && this.isOfPool(i))) claims.push(i);
    }
    const isName = (word) => this.lower[word] === name;
    const best = claims.filter((i) => isName(records.name[i]));
    return [
      ...this.grouped('Cluster', groups.Cluster, isName), ...this.grouped('Machine', groups.Machine, isName),
      ...[...best, ...claims.filter((i) => !isName(records.name[i]))].slice(0, MOST).map((i) => this.claim(i, isName(records.name[i]))),
    ];
  }

  grouped(kind, groups, isName) {
    const {strings} = this.model;
    const all = [...groups].map(([key, numbers]) => ({key: key.split(' ').map(Number), numbers}));
    all.sort((a, b) => isName(b.key[1]) - isName(a.key[1]));
    return all.slice(0, MOST).map(({key: [namespace, word], numbers}) => {
      const title = `${kind} ${strings[namespace] ? strings[namespace] + '/' : ''}${strings[word]}`;
      return {...this.claim(numbers[0], isName(word)), text: `${title}, ${plural(numbers.length, 'record')}`, records: {title, numbers}};
    });
  }

  claim(i, exact) {
    const area = this.areaOf(i), {from, to, kind, name} = area.record(i);
    return {text: `${kind} ${name} ${formatRange(from, to, area.bits)}`, area, from, to, exact};
  }
}

/**
 * Makes a field and a list of it a combo box.
 *
 * @param {HTMLInputElement} field
 * @param {HTMLElement} list
 * @param {HTMLElement} status Where it is said how many were found.
 * @param {(text: string) => Found[]} find
 * @param {(found: Found) => void} take
 */
export function searchBox(field, list, status, find, take) {
  let found = [], active = -1;
  const show = () => {
    list.replaceChildren(...found.map((f, i) => {
      const item = document.createElement('li');
      item.textContent = f.text;
      item.id = `found-${i}`;
      item.setAttribute('role', 'option');
      item.setAttribute('aria-selected', String(i === active));
      item.addEventListener('mousedown', (event) => { event.preventDefault(); choose(i); });
      return item;
    }));
    list.hidden = found.length === 0;
    field.setAttribute('aria-expanded', String(found.length > 0));
    if (active >= 0) field.setAttribute('aria-activedescendant', `found-${active}`); else field.removeAttribute('aria-activedescendant');
    list.querySelector('[aria-selected=true]')?.scrollIntoView({block: 'nearest'});
  };
  const close = () => { found = []; active = -1; show(); };
  const choose = (i) => {
    const f = found[i];
    close();
    field.blur();
    take(f);
  };
  field.addEventListener('input', () => {
    found = find(field.value);
    active = found.length > 0 ? 0 : -1;
    status.textContent = field.value.trim() === '' ? '' : found.length === 0 ? 'nothing found' : plural(found.length, 'result');
    show();
  });
  field.addEventListener('keydown', (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step && found.length > 0) {
      active = (active + step + found.length) % found.length;
      show();
    } else if (event.key === 'Enter' && active >= 0) choose(active);
    else if (event.key === 'Escape') { close(); field.blur(); } else return;
    event.preventDefault();
  });
  field.addEventListener('blur', close);
}
