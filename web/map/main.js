// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

import {select} from 'd3-selection';
import {zoom, zoomIdentity} from 'd3-zoom';

import {LETTERS, WORST, areasOf, formatCount, formatRange} from './model.js';
import {layout, partsOf, treeOf} from './layout.js';

/** How many boxes and how many texts are drawn at most: 1,500 elements with the picture's own. */
const MAX_BOXES = 1000, MAX_TEXTS = 450;
/** Height of a pool's label, and of what is drawn in the innermost pools, in pixels. */
const LABEL = 22, BAR = 96;
/** About how wide a letter is. */
const LETTER = 7;
/** How far the map zooms in at most. */
const MAX_ZOOM = 1e7;

const model = JSON.parse(document.getElementById('model').textContent);
const areas = areasOf(model);
const element = (id) => document.getElementById(id);
const worse = (a, b) => (WORST.indexOf(b) > WORST.indexOf(a) ? b : a);
const className = (letter) => (letter === '!' ? 'conflict' : letter);

const state = {space: 0, scale: 'fit', transform: zoomIdentity, chosen: null, tree: null, boxes: [], roots: []};
const svg = select('#bars');
const picture = svg.append('g');
const zooming = zoom().scaleExtent([1, MAX_ZOOM]).on('zoom', (event) => {
  state.transform = event.transform;
  draw();
});

/** Width of the picture in pixels. */
const width = () => element('bars').clientWidth;

/** Puts the pools of the chosen space into bars. */
function plant() {
  state.roots = areas.filter((area) => area.pool.space === state.space && area.ranges.length > 0 &&
    (area.pool.parent < 0 || areas[area.pool.parent].ranges.length === 0));
  state.tree = treeOf(state.roots.map((area) => partsOf(area, state.scale)));
  state.chosen = null;
  svg.call(zooming.transform, zoomIdentity);
  describe(null);
}

/** Draws what is in sight. */
function draw() {
  const view = {x: (n) => state.transform.applyX(n), width: width(), most: MAX_BOXES};
  zooming.translateExtent([[0, 0], [view.width, 0]]).extent([[0, 0], [view.width, 1]]);
  const {boxes, merged, leftOut} = state.tree.children ? layout(state.tree, view, worse) : {boxes: [], merged: 0, leftOut: 0};
  state.boxes = boxes;
  const deepest = boxes.reduce((depth, box) => Math.max(depth, box.depth), 0);
  const height = (deepest + 1) * LABEL + BAR;
  svg.attr('height', height).attr('viewBox', `0 0 ${view.width} ${height}`);
  for (const box of boxes) {
    box.left = Math.max(box.x, -2);
    box.shown = Math.max(Math.min(box.x + box.width, view.width + 2) - box.left, 0.5);
    box.top = box.depth * LABEL;
    box.height = height - box.top - 1;
    if (box.kind === 'bin') {
      const used = Math.max(box.use, 0.04) * box.height;
      box.top += box.height - used;
      box.height = used;
    }
  }
  picture.selectAll('rect').data(boxes).join('rect')
    .attr('class', (box) => `${box.kind} ${box.kind === 'pool' ? '' : className(box.letter)}${isChosen(box) ? ' chosen' : ''}`)
    .attr('x', (box) => box.left).attr('y', (box) => box.top).attr('width', (box) => box.shown).attr('height', (box) => box.height)
    .on('click', (event, box) => choose(box)).on('dblclick', (event, box) => enter(box));
  drawTexts(boxes);
  tell(merged, leftOut);
}

/** Draws the names of pools, and signs or words for tiles, as far as there is room. */
function drawTexts(boxes) {
  const texts = boxes.filter((box) => box.kind !== 'bin').map((box) => ({box, text: textOf(box)})).filter((t) => t.text).slice(0, MAX_TEXTS);
  picture.selectAll('text').data(texts).join('text')
    .attr('class', ({box}) => (box.kind === 'pool' || box.letter === 'u' || box.letter === 'p' ? '' : box.letter === 'f' ? 'halo' : 'on'))
    .attr('x', ({box}) => box.left + 5).attr('y', ({box}) => box.top + 15).text((t) => t.text);
}

/** What is written on a box: as much as there is room for, "" for nothing. */
function textOf(box) {
  const room = Math.floor((box.shown - 8) / LETTER);
  const range = formatRange(box.from, box.to, box.area.bits);
  const {pool} = box.area;
  const percent = pool.percent === undefined ? '' : ` ${pool.percent}%`;
  const [word, sign] = LETTERS[box.letter];
  const choices = box.kind === 'pool' ? [`${pool.title} ${range}${percent}`, `${pool.name} ${range}`, pool.name]
    : [`${word} ${range}, ${formatCount(box.to - box.from + 1n)}`, `${word} ${range}`, word, sign];
  return choices.find((text) => text.length <= room) || '';
}

/** Says what stands for several, and what may not be seen. */
function tell(merged, leftOut) {
  element('merged').textContent = merged === 0 && leftOut === 0 ? 'Each range is drawn by itself.'
    : `${merged} ranges narrower than 3 px are drawn in bins: the height is use, the colour the worst state.` +
      (leftOut > 0 ? ` ${leftOut} ranges are not drawn; zoom in to see them.` : '');
  const [first, last] = [state.boxes.find((box) => box.depth === 0), state.boxes.filter((box) => box.depth === 0).pop()];
  element('first').textContent = first ? formatRange(first.from, first.from, first.area.bits) : 'no pool of this address space has addresses';
  element('last').textContent = last ? formatRange(last.to, last.to, last.area.bits) : '';
  element('zoom').textContent = `zoom ${state.transform.k < 10 ? state.transform.k.toFixed(1) : Math.round(state.transform.k)}×`;
}

const isChosen = (box) => state.chosen !== null && state.chosen.area === box.area && state.chosen.from === box.from && state.chosen.kind === box.kind;

/** Chooses a box, and describes it at the side. */
function choose(box) {
  state.chosen = box;
  describe(box);
  draw();
}

/** Zooms so that a box fills the picture. */
function enter(box) {
  const k = Math.min(Math.max(width() / Math.max(box.span, 1e-9), 1), MAX_ZOOM);
  svg.call(zooming.transform, zoomIdentity.translate(-box.at * k, 0).scale(k));
}

/** Adds a line to the details. All text gets there as text. */
function line(tag, text) {
  const node = document.createElement(tag);
  node.textContent = text;
  element('details').append(node);
  return node;
}

const plural = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

const ago = (seconds) => {
  const [unit, size] = seconds >= 172800 ? ['d', 86400] : seconds >= 7200 ? ['h', 3600] : seconds >= 120 ? ['m', 60] : ['s', 1];
  return Math.floor(seconds / size) + unit;
};

function describe(box) {
  element('details').replaceChildren();
  if (box === null) {
    line('h2', 'Details');
    line('p', 'Click a bar, or walk with the arrow keys. Enter zooms in, Backspace out, + and - zoom, t changes the scale.');
    return;
  }
  if (box.kind === 'pool') describePool(box.area); else describeRange(box);
}

function describePool(area) {
  const {pool} = area;
  line('h2', pool.title);
  line('p', `${pool.block || 'no addresses yet'}: ${pool.state}${pool.message ? ', ' + pool.message : ''}`);
  if (pool.capacity) {
    const {total, allocated, available, delegated, cooling, excluded} = pool.capacity;
    line('p', `${available || '?'} of ${total || '?'} addresses free; ${allocated || 0} held, ${delegated || 0} carved, ${cooling || 0} cooling, ${excluded || 0} excluded`);
  }
  if (pool.carvedFrom) line('p', `carved from ${pool.carvedFrom}`);
  if (pool.cluster) line('p', `Cluster ${pool.cluster}`);
  if (pool.member) line('p', `delegated to ${pool.member}`);
  if (pool.unlisted) line('p', `${pool.unlisted} records are not in this file: it would be too large.`);
  for (const kept of pool.kept || []) line('p', `kept: ${kept.prefix} for ${kept.for}`);
  if (area.children.length > 0) {
    line('p', 'Pools carved from it:');
    const list = line('ul', '');
    for (const child of area.children) {
      const item = document.createElement('li');
      item.textContent = `${child.pool.title} ${child.pool.block || ''}`;
      list.append(item);
    }
  }
}

function describeRange(box) {
  const {area} = box;
  line('h2', formatRange(box.from, box.to, area.bits));
  line('p', (box.kind === 'bin' ? `${box.merged} ranges, ${Math.round(box.use * 100)}% in use, at worst ` : '') +
    `${LETTERS[box.letter][0]}, ${formatCount(box.to - box.from + 1n)}`);
  line('p', `in ${area.pool.title}`);
  const found = area.recordsIn(box.from, box.to);
  if (found.length > 0) {
    const list = line('ul', '');
    for (const i of found) {
      const record = area.record(i);
      const item = document.createElement('li');
      item.textContent = `${formatRange(record.from, record.to, area.bits)} ${LETTERS[record.letter][0]} for ${ago(record.since)}: ` +
        `${record.kind} ${record.name}${record.cluster ? ' of Cluster ' + record.cluster : ''}`;
      list.append(item);
    }
    if (found.length === 50) line('p', 'and more; zoom in to see them');
  }
  const address = formatRange(box.from, box.from, area.bits);
  const command = line('p', '');
  const code = document.createElement('code');
  code.textContent = `kubectl weir who ${address}`;
  command.append(code);
}

/** Walks to another box: of the same depth, of the pool around, or the first one inside. */
function walk(key) {
  const at = state.boxes.findIndex(isChosen);
  if (at < 0) return state.boxes[0];
  const box = state.boxes[at];
  const level = state.boxes.filter((other) => other.depth === box.depth);
  switch (key) {
    case 'ArrowLeft': return level[level.indexOf(box) - 1];
    case 'ArrowRight': return level[level.indexOf(box) + 1];
    case 'ArrowUp': return box.parent;
    default: return state.boxes.find((other) => other.parent === box);
  }
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  switch (event.key) {
    case 'ArrowLeft': case 'ArrowRight': case 'ArrowUp': case 'ArrowDown': {
      const box = walk(event.key);
      if (box) choose(box);
      break;
    }
    case 'Enter': if (state.chosen) enter(state.boxes.find(isChosen) || state.chosen); break;
    case 'Backspace': {
      const around = state.boxes.find(isChosen)?.parent;
      if (around && state.transform.k > 1) { choose(around); enter(around); } else svg.call(zooming.transform, zoomIdentity);
      break;
    }
    case '+': case '=': svg.call(zooming.scaleBy, 2); break;
    case '-': svg.call(zooming.scaleBy, 0.5); break;
    case 't': rescale(state.scale === 'fit' ? 'true' : 'fit'); break;
    default: return;
  }
  event.preventDefault();
}

function rescale(scale) {
  state.scale = scale;
  for (const name of ['fit', 'true']) element(name).setAttribute('aria-pressed', String(name === scale));
  plant();
}

function begin() {
  const spaces = element('space');
  model.spaces.forEach((space, i) => {
    const option = document.createElement('option');
    option.value = String(i);
    option.textContent = space || 'not known';
    spaces.append(option);
  });
  const first = model.spaces.indexOf('default');
  state.space = Math.max(first, 0);
  spaces.value = String(state.space);
  spaces.addEventListener('change', () => { state.space = Number(spaces.value); plant(); });
  for (const name of ['fit', 'true']) element(name).addEventListener('click', () => rescale(name));
  for (const [letter, [word, sign]] of Object.entries(LETTERS)) {
    const item = document.createElement('li');
    item.className = className(letter);
    const mark = document.createElement('span');
    mark.textContent = sign;
    item.append(mark, word);
    element('legend').append(item);
  }
  for (const gap of model.gaps) {
    const note = document.createElement('p');
    note.textContent = 'not shown: ' + gap.text;
    element('notes').append(note);
  }
  element('taken').textContent = `${plural(model.pools.length, 'pool')}, ${plural(model.records.at.length, 'record')}; ` +
    (model.revision ? `revision ${model.revision}, ` : '') + `taken ${model.taken}`;
  svg.call(zooming).on('dblclick.zoom', null);
  element('bars').addEventListener('keydown', onKey);
  new ResizeObserver(() => draw()).observe(element('bars').parentElement);
  plant();
  document.documentElement.dataset.drawn = String(Math.round(performance.now()));
}

begin();
