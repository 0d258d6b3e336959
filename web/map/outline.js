// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

import {LETTERS, formatRange} from './model.js';
import {ago, make, plural} from './dom.js';

/** Up to so many pools the outline is open at first. */
const OPEN_AT_FIRST = 60;
/** How many pools, and how many records, are listed at once. */
const MOST_ITEMS = 500, PAGE = 100;

/** @typedef {import('./model.js').Area} Area */

/** The pools as a tree for keys and screen readers. */
export class Outline {
  /** @param {HTMLElement} host @param {(area: Area) => void} choose */
  constructor(host, choose) {
    this.host = host;
    this.choose = choose;
    /** @type {Set<string>} Titles of those that are open. */
    this.open = new Set();
    /** @type {Area|null} */ this.at = null;
    host.addEventListener('keydown', (event) => this.onKey(event));
    host.addEventListener('click', (event) => {
      const item = event.target.closest('[role=treeitem]');
      if (!item) return;
      const {area} = this.items[Number(item.dataset.item)];
      if (event.target.matches('.twist')) this.toggle(area); else this.choose(area);
    });
  }

  /** @param {Area[]} roots @param {Area[]} all Those of the same address space. */
  plant(roots, all) {
    this.roots = roots;
    if (all.length <= OPEN_AT_FIRST) for (const area of all) this.open.add(area.pool.title);
    this.at = roots[0] || null;
    this.show(null);
  }

  /** @param {Area|null} chosen Those around it are opened. @param {(area: Area) => Area|undefined} [above] */
  show(chosen, above) {
    if (chosen) {
      this.at = chosen;
      for (let area = above(chosen); area; area = above(area)) this.open.add(area.pool.title);
    }
    /** @type {{area: Area, level: number}[]} */
    this.items = [];
    const add = (areas, level) => {
      for (const area of areas) {
        if (this.items.length >= MOST_ITEMS) return;
        this.items.push({area, level});
        if (this.open.has(area.pool.title)) add(area.children, level + 1);
      }
    };
    add(this.roots, 1);
    this.host.replaceChildren(...this.items.map(({area, level}, i) => this.item(area, level, i, chosen)));
  }

  item(area, level, i, chosen) {
    const {pool} = area, isOpen = this.open.has(pool.title), hasChildren = area.children.length > 0;
    const item = make('li', '', {
      role: 'treeitem', 'aria-level': String(level), 'aria-selected': String(area === chosen), 'data-item': String(i), class: `level-${Math.min(level, 9)}`,
    }, [
      make('span', hasChildren ? (isOpen ? '▾' : '▸') : '', {class: 'twist', 'aria-hidden': 'true'}),
      make('span', `${pool.title} ${pool.block || ''}${pool.percent === undefined ? '' : `, ${pool.percent}% used`}, ${pool.state}`),
    ]);
    if (hasChildren) item.setAttribute('aria-expanded', String(isOpen));
    item.tabIndex = area === this.at ? 0 : -1;
    return item;
  }

  toggle(area) {
    if (!this.open.delete(area.pool.title)) this.open.add(area.pool.title);
    this.at = area;
    this.show(null);
    this.focus();
  }

  focus() { this.host.querySelector('[tabindex="0"]')?.focus(); }

  onKey(event) {
    const i = this.items.findIndex(({area}) => area === this.at), item = this.items[i];
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    const {area, level} = item, isOpen = this.open.has(area.pool.title) && area.children.length > 0;
    let to = i;
    switch (event.key) {
      case 'ArrowDown': to = i + 1; break;
      case 'ArrowUp': to = i - 1; break;
      case 'Home': to = 0; break;
      case 'End': to = this.items.length - 1; break;
      case 'ArrowRight': if (isOpen) to = i + 1; else if (area.children.length > 0) return this.handled(event, () => this.toggle(area)); break;
      case 'ArrowLeft':
        if (isOpen) return this.handled(event, () => this.toggle(area));
        while (to > 0 && this.items[to].level >= level) to--;
        break;
      case 'Enter': case ' ': return this.handled(event, () => { this.choose(area); this.focus(); });
      default: return;
    }
    this.handled(event, () => {
      this.at = this.items[Math.min(Math.max(to, 0), this.items.length - 1)].area;
      for (const node of this.host.children) node.tabIndex = this.items[Number(node.dataset.item)].area === this.at ? 0 : -1;
      this.focus();
    });
  }

  handled(event, act) {
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}

/** The records of a pool, Machine or Cluster as a table. */
export class RecordTable {
  /**
   * @param {HTMLElement} host
   * @param {(i: number) => Area} areaOf
   * @param {(i: number) => void} choose
   */
  constructor(host, areaOf, choose) {
    Object.assign(this, {host, areaOf, choose, key: null, first: 0});
  }

  /** @param {string} title What the records are of, "" for nothing. @param {number[]} numbers */
  show(title, numbers) {
    if (this.key === title) return;
    this.key = title;
    this.first = 0;
    this.page(title, numbers);
  }

  /** Has what is shown next shown anew. */
  forget() { this.key = null; }

  /** Shows the records from the first one on. */
  page(title, numbers) {
    if (title === '') return this.host.replaceChildren(make('p', 'The records of the chosen pool are listed here.'));
    const part = numbers.slice(this.first, this.first + PAGE);
    const range = numbers.length > PAGE ? `, ${this.first + 1} to ${this.first + part.length}` : '';
    const table = make('table', '', {}, [
      make('caption', `${title}: ${plural(numbers.length, 'record')}${range}`),
      make('thead', '', {}, [make('tr', '', {}, ['Address', 'State', 'For', 'Claim', 'Machine', 'Cluster'].map((name) => make('th', name, {scope: 'col'})))]),
      make('tbody', '', {}, part.map((i) => this.row(i))),
    ]);
    const turn = (text, by) => {
      const button = make('button', text, {type: 'button'});
      button.disabled = this.first + by < 0 || this.first + by >= numbers.length;
      button.addEventListener('click', () => { this.first += by; this.page(title, numbers); });
      return button;
    };
    this.host.replaceChildren(table, ...(numbers.length > PAGE ? [turn('Previous records', -PAGE), turn('More records', PAGE)] : []));
  }

  row(i) {
    const area = this.areaOf(i), record = area.record(i);
    const link = make('button', formatRange(record.from, record.to, area.bits), {type: 'button', class: 'link'});
    link.addEventListener('click', () => this.choose(i));
    return make('tr', '', {}, [
      make('td', '', {}, [link]),
      ...[LETTERS[record.letter][0], ago(record.since), `${record.kind} ${record.name}`, record.machine, record.cluster].map((text) => make('td', text)),
    ]);
  }
}
