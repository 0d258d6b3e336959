// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

import {hierarchy} from 'd3-hierarchy';

/** What is narrower, in pixels, is drawn together with its neighbours. */
export const MIN_WIDTH = 3;

/**
 * @typedef {import('./model.js').Area} Area
 * @typedef {Object} Part A range of addresses in a bar: a pool that is carved from it, or a tile.
 * @property {bigint} from
 * @property {bigint} to
 * @property {string} letter
 * @property {Area} area The pool that the range is of.
 * @property {Area} [child] The pool that the range is the block of.
 * @property {number} weight
 * @property {Part[]} [parts] Those of the child.
 */

const LOG2 = (n) => { // of a bigint from 1 on
  const text = n.toString(16);
  return Math.log2(parseInt(text.slice(0, 12), 16)) + 4 * Math.max(text.length - 12, 0);
};

/**
 * Weights of ranges: by the logarithm of the size, half of that for what is free, or by the size.
 * @type {Object<string, (part: Part) => number>}
 */
const WEIGHTS = {
  fit: (part) => (1 + LOG2(part.to - part.from + 1n)) / (part.letter === 'f' || part.letter === 'u' ? 2 : 1),
  true: (part) => Number(part.to - part.from + 1n),
};

/**
 * @param {Area} area
 * @param {'fit'|'true'} scale
 * @returns {Part} The pool with its parts in the order of their addresses.
 */
export function partsOf(area, scale) {
  const parts = [];
  const children = area.children.filter((c) => c.ranges.length > 0).flatMap((child) => child.ranges.map((range) => ({...range, child})))
    .sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
  let next = 0;
  const add = (from, to, letter, child) => parts.push({from, to, letter, area, child});
  for (const tile of area.tiles) {
    let from = tile.from;
    while (next < children.length && children[next].to < from) next++;
    for (let i = next; i < children.length && children[i].from <= tile.to; i++) {
      const begin = children[i].from > from ? children[i].from : from;
      const end = children[i].to < tile.to ? children[i].to : tile.to;
      if (begin > end) continue;
      if (from < begin) add(from, begin - 1n, tile.letter);
      add(begin, end, tile.letter, children[i].child);
      from = end + 1n;
    }
    if (from <= tile.to) add(from, tile.to, tile.letter);
  }
  for (const part of parts) {
    const own = WEIGHTS[scale](part);
    if (part.child) {
      part.parts = partsOf(part.child, scale).parts.filter((inner) => inner.from <= part.to && inner.to >= part.from);
      const inside = part.parts.reduce((sum, inner) => sum + inner.weight, 0);
      part.weight = scale === 'true' ? own : own + Math.min(0.6 * inside, 6 * own); // room for what is inside
    } else {
      part.weight = own;
    }
  }
  return {from: area.from, to: area.to, letter: 'p', area, child: area, parts, weight: parts.reduce((sum, part) => sum + part.weight, 0)};
}

/**
 * @typedef {Object} Box What is drawn.
 * @property {number} x
 * @property {number} width
 * @property {number} at Where it begins, from 0 to the width, before zooming.
 * @property {number} span How wide it is before zooming.
 * @property {number} depth How many pools it lies in.
 * @property {Box|null} parent
 * @property {'pool'|'tile'|'bin'} kind
 * @property {bigint} from
 * @property {bigint} to
 * @property {string} letter Of a bin the worst of its parts.
 * @property {Area} area
 * @property {number} use How much of it is in use, from 0 to 1.
 * @property {number} merged How many parts it stands for.
 */

/**
 * @param {Part[]} roots
 * @returns {Object} Their hierarchy. A part that is the block of a pool has the parts of that pool below it.
 */
export function treeOf(roots) {
  return hierarchy({parts: roots}, (part) => part.parts);
}

/**
 * Lays bars out, level by level, so that what has to be left out is what lies deepest.
 * @param {Object} tree
 * @param {{x: (n: number) => number, width: number, most: number}} view x turns a position, from 0 to the width, into pixels. Most is
 *   how many boxes there may be.
 * @param {(a: string, b: string) => string} worse
 * @returns {{boxes: Box[], merged: number, leftOut: number}} Merged is how many parts are drawn in bins, leftOut how many not at all.
 */
export function layout(tree, view, worse) {
  /** @type {Box[]} */
  const boxes = [];
  let merged = 0, leftOut = 0;
  const queue = [{node: tree, x: 0, width: view.width, parent: null}];
  for (let i = 0; i < queue.length; i++) {
    const {node, x, width, parent} = queue[i];
    const sum = node.children.reduce((all, child) => all + child.data.weight, 0) || 1;
    let at = x, bin = null;
    for (const child of node.children) {
      const w = width * child.data.weight / sum, begin = at;
      const left = view.x(begin), right = view.x(begin + w);
      at += w;
      if (right < 0 || left > view.width) { bin = null; continue; }
      if (bin && right - left < MIN_WIDTH && bin.width < MIN_WIDTH) {
        widen(bin, child.data, right, worse);
        continue;
      }
      if (boxes.length >= view.most) { leftOut++; continue; }
      const box = boxOf(child, left, right, {at: begin, span: w}, parent);
      boxes.push(box);
      bin = right - left < MIN_WIDTH ? box : null;
      if (!bin && child.children) queue.push({node: child, x: begin, width: w, parent: box});
    }
  }
  for (const box of boxes) if (box.kind === 'bin') merged += box.merged;
  return {boxes, merged, leftOut};
}

const isUsed = (part) => part.letter !== 'f' && part.letter !== 'u';

function boxOf(node, left, right, place, parent) {
  const part = node.data, size = Number(part.to - part.from + 1n), used = isUsed(part) ? size : 0;
  return {
    x: left, width: right - left, ...place, depth: node.depth - 1, parent, kind: part.child ? 'pool' : 'tile', from: part.from, to: part.to,
    letter: part.letter, area: part.child || part.area, use: used / size, used, size, merged: 1,
  };
}

/** Adds a part to a bin. Its height is use, its letter the worst one. */
function widen(bin, part, right, worse) {
  const size = Number(part.to - part.from + 1n);
  bin.kind = 'bin';
  bin.area = part.area;
  bin.letter = worse(bin.letter, part.letter);
  bin.used += isUsed(part) ? size : 0;
  bin.size += size;
  bin.use = bin.used / bin.size;
  bin.to = part.to;
  bin.width = right - bin.x;
  bin.merged++;
}

/**
 * @param {Object} tree
 * @param {Area} area
 * @param {bigint} value An address of the pool.
 * @param {number} width Of the picture.
 * @returns {{at: number, span: number, pool: {at: number, span: number}}|null} Where the part with the address lies before zooming, and where
 *   the part of the pool around it; both are that of the pool where the address is one of a pool carved from it. Null if the pool has no place.
 */
export function placeOf(tree, area, value, width) {
  let pool = null, node = tree, at = 0, span = width;
  while (node?.children) {
    const sum = node.children.reduce((all, child) => all + child.data.weight, 0) || 1;
    let next = null, begin = at, inside = 0;
    for (const child of node.children) {
      const w = span * child.data.weight / sum;
      if (!next && child.data.from <= value && value <= child.data.to && isAbove(child.data, area)) {
        [next, at, inside] = [child, begin, w];
      }
      begin += w;
    }
    if (!next) break;
    [node, span] = [next, inside];
    if (node.data.child === area) pool = {at, span};
    if (pool && !node.data.child) return {at, span, pool};
  }
  return pool && {at: pool.at, span: pool.span, pool};
}

/** Whether a part is of the pool, or is the block of it or of one above it. Roots of one address may lie beside each other. */
function isAbove(part, area) {
  if (!part.child) return part.area === area;
  const isIn = (outer) => outer === area || outer.children.some(isIn);
  return isIn(part.child);
}
