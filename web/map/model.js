// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

/**
 * The model of a map as internal/atlas writes it, and what is computed from it.
 *
 * @typedef {Object} Pool
 * @property {string} title How people write the pool.
 * @property {string} name
 * @property {number} [percent] How much of it is in use.
 * @property {boolean} [external] A cloud chooses the addresses.
 * @property {number} space Number in Model.spaces.
 * @property {number} parent Number in Model.pools, -1 for none that is shown.
 * @property {string} [carvedFrom]
 * @property {string} [block]
 * @property {string} state
 * @property {string} [message]
 * @property {string} [cluster]
 * @property {string} [member]
 * @property {Object<string, string>} [capacity] Counts of addresses as decimal texts.
 * @property {[string, string][]} ranges First and last address of each.
 * @property {string} tiles A letter for each tile.
 * @property {(number|string)[]} sizes Addresses of each tile.
 * @property {{prefix: string, for: string}[]} [kept]
 * @property {number} first Number of its first record.
 * @property {number} count How many records follow.
 * @property {number} [unlisted]
 *
 * @typedef {Object} Model
 * @property {string} [revision]
 * @property {string} taken
 * @property {string} [namespace] The only one that was looked at.
 * @property {{text: string}[]} gaps
 * @property {string[]} strings
 * @property {string[]} spaces
 * @property {Pool[]} pools
 * @property {{at: (number|string)[], size: (number|string)[], states: string, kind: number[], namespace: number[], name: number[],
 *   machine: number[], cluster: number[], since: number[]}} records
 *
 * @typedef {Object} Tile A range of addresses that are in use for the same.
 * @property {bigint} from
 * @property {bigint} to The last one.
 * @property {string} letter
 */

/** What the letters of tiles mean: a word, and the sign that stands for it beside the colour. */
export const LETTERS = {
  h: ['held', '█'], p: ["pool's block", '▓'], c: ['cooling', '▒'], r: ['retained', 'R'], m: ['moved', 'M'], b: ['handed back', 'B'],
  x: ['excluded', 'x'], g: ['gateway', 'g'], k: ['kept', 'k'], '!': ['conflict', '!'], u: ['not shown', '?'], f: ['free', '·'],
};

/** Lines over the colour of a letter, in a square of 8 pixels: what tells them apart where there is no room for a sign. */
export const PATTERNS = {
  c: 'M0 2H8M0 6H8', r: 'M2 0V8M6 0V8', m: 'M0 8L8 0', b: 'M0 0L8 8', x: 'M0 0L8 8M0 8L8 0', g: 'M0 4H4', k: 'M0 4H8M4 0V8',
  '!': 'M0 1H8M0 3H8M0 6H8', u: 'M0 4H2', f: 'M0 8L8 0',
};

/** @param {string} letter @returns {string} Its name in classes. */
export const className = (letter) => (letter === '!' ? 'conflict' : letter);

/** The letters from the one that matters least to the one that matters most, for what stands for several. */
export const WORST = 'fupxgkhbcrm!';

/** @param {string} text An address. @returns {{value: bigint, bits: number}} */
export function parseAddress(text) {
  if (!text.includes(':')) {
    return {value: text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n), bits: 32};
  }
  let tail = text;
  const dotted = text.lastIndexOf(':') + 1;
  if (text.includes('.')) {
    const four = parseAddress(text.slice(dotted)).value;
    tail = text.slice(0, dotted) + (four >> 16n).toString(16) + ':' + (four & 0xffffn).toString(16);
  }
  const [before, after] = tail.split('::');
  const groups = (part) => (part ? part.split(':') : []);
  const left = groups(before), right = groups(after);
  const zeros = after === undefined ? 0 : 8 - left.length - right.length;
  const all = [...left, ...Array(zeros).fill('0'), ...right];
  return {value: all.reduce((sum, group) => (sum << 16n) + BigInt('0x' + group), 0n), bits: 128};
}

/**
 * @param {string} text An address, or a prefix.
 * @returns {{from: bigint, to: bigint, bits: number}|null} Null for another text.
 */
export function parsePrefix(text) {
  const [address, length, more] = text.split('/');
  const isFour = /^\d{1,3}(\.\d{1,3}){3}$/.test(address) && address.split('.').every((part) => Number(part) < 256);
  const isSix = /^[0-9a-f:]*(:\d{1,3}(\.\d{1,3}){3})?$/i.test(address) && (address.match(/::/g) || []).length <= 1 &&
    address.split(':').length >= 3 && address.split(':').length <= 9 && address.split(':').every((part) => part.length <= 4 || part.includes('.')) &&
    (address.includes('::') || address.split(':').length === (address.includes('.') ? 7 : 8));
  if (more !== undefined || !(isFour || isSix)) return null;
  const {value, bits} = parseAddress(address);
  const ones = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : bits + 1;
  if (ones > bits) return null;
  const size = 1n << BigInt(bits - ones), from = value - value % size;
  return {from, to: from + size - 1n, bits};
}

/** @param {bigint} value @param {number} bits 32 or 128. @returns {string} The address as people write it (RFC 5952). */
export function formatAddress(value, bits) {
  if (bits === 32) {
    return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  }
  const groups = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) {
    groups.push(((value >> shift) & 0xffffn).toString(16));
  }
  let at = -1, length = 1;
  for (let i = 0; i < 8; i++) {
    let n = 0;
    while (i + n < 8 && groups[i + n] === '0') n++;
    if (n > length) [at, length] = [i, n];
  }
  if (at < 0) return groups.join(':');
  return groups.slice(0, at).join(':') + '::' + groups.slice(at + length).join(':');
}

/** @param {bigint} from @param {bigint} to @param {number} bits @returns {string} */
export function formatRange(from, to, bits) {
  if (from === to) return formatAddress(from, bits);
  const size = to - from + 1n;
  if ((size & (size - 1n)) === 0n && from % size === 0n) {
    return formatAddress(from, bits) + '/' + (bits - (size.toString(2).length - 1));
  }
  return formatAddress(from, bits) + '-' + formatAddress(to, bits);
}

/** @param {bigint} size @returns {string} A number of addresses in words: exact up to a million, else as a power of two. */
export function formatCount(size) {
  if (size === 1n) return '1 address';
  if (size <= 1000000n) return size + ' addresses';
  return 'about 2^' + (size.toString(2).length - 1) + ' addresses';
}

/** A pool with its addresses as numbers. */
export class Area {
  /** @param {Model} model @param {number} index Number of the pool. */
  constructor(model, index) {
    /** @type {Model} */ this.model = model;
    /** @type {number} */ this.index = index;
    /** @type {Pool} */ this.pool = model.pools[index];
    /** @type {Area[]} */ this.children = [];
    /** @type {{from: bigint, to: bigint}[]} */
    this.ranges = this.pool.ranges.map(([first, last]) => ({from: parseAddress(first).value, to: parseAddress(last).value}));
    this.bits = this.pool.ranges.length > 0 ? parseAddress(this.pool.ranges[0][0]).bits : 32;
    /** @type {Tile[]} */
    this.tiles = [];
    let next = 0;
    for (const range of this.ranges) {
      for (let from = range.from; from <= range.to; next++) {
        const to = from + BigInt(this.pool.sizes[next]) - 1n;
        this.tiles.push({from, to, letter: this.pool.tiles[next]});
        from = to + 1n;
      }
    }
  }

  get from() { return this.ranges.length > 0 ? this.ranges[0].from : 0n; }
  get to() { return this.ranges.length > 0 ? this.ranges[this.ranges.length - 1].to : 0n; }

  /** @returns {bigint} How many addresses it has. */
  get size() { return this.ranges.reduce((sum, range) => sum + range.to - range.from + 1n, 0n); }

  /** @param {bigint} value @param {bigint} [to] @returns {boolean} Whether an address, or all from it to another one, is the pool's. */
  has(value, to = value) { return this.ranges.some((range) => range.from <= value && to <= range.to); }

  /** @param {bigint} from @param {bigint} to @returns {Area|undefined} The pool that is carved from it there. */
  carved(from, to) { return this.children.find((child) => child.from === from && child.to === to); }

  /** @param {bigint} value @returns {string} The letter of an address; "" if it is none of the pool's. */
  letterAt(value) {
    let low = 0, high = this.tiles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tiles[middle].to < value) low = middle + 1; else high = middle;
    }
    const tile = this.tiles[low];
    return tile && tile.from <= value ? tile.letter : '';
  }

  /** @param {bigint} from @param {bigint} to @returns {number[]} Numbers of the records that overlap the range, at most 50. */
  recordsIn(from, to) {
    const {at, size} = this.model.records;
    const begin = (i) => this.from + BigInt(at[i]);
    let low = this.pool.first, high = this.pool.first + this.pool.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begin(middle) < from) low = middle + 1; else high = middle;
    }
    const found = [];
    for (let i = low - 1; i >= this.pool.first && i >= low - 64; i--) {
      if (begin(i) + BigInt(size[i]) > from) found.unshift(i);
    }
    for (let i = low; i < this.pool.first + this.pool.count && begin(i) <= to && found.length < 50; i++) found.push(i);
    return found;
  }

  /** @param {number} i Number of a record. @returns {{from: bigint, to: bigint, letter: string, kind: string, namespace: string,
   *   name: string, machine: string, cluster: string, since: number}} The name is with the namespace. */
  record(i) {
    const {strings, records} = this.model;
    const from = this.from + BigInt(records.at[i]);
    const namespace = strings[records.namespace[i]];
    return {
      from, to: from + BigInt(records.size[i]) - 1n, letter: records.states[i], kind: strings[records.kind[i]],
      namespace,
      name: (namespace ? namespace + '/' : '') + strings[records.name[i]], machine: strings[records.machine[i]], cluster: strings[records.cluster[i]], since: records.since[i],
    };
  }
}

/** @param {Model} model @returns {Area[]} All pools; each has those carved from it as children. */
export function areasOf(model) {
  const areas = model.pools.map((_, index) => new Area(model, index));
  for (const area of areas) {
    if (area.pool.parent >= 0) areas[area.pool.parent].children.push(area);
  }
  return areas;
}
