// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

import {select} from 'd3-selection';
import {zoom, zoomIdentity} from 'd3-zoom';

import {LETTERS, PATTERNS, WORST, areasOf, className, formatCount, formatRange, parsePrefix} from './model.js';
import {layout, partsOf, placeOf, treeOf} from './layout.js';
import {element, make, plural} from './dom.js';
import {describe} from './details.js';
import {Search, searchBox} from './search.js';
import {MOST_CELLS, drawGrid, mark, scopeOf} from './grid.js';
import {Outline, RecordTable} from './outline.js';

/** How many boxes and how many texts are drawn at most: 1,500 elements with the picture's own. */
const MAX_BOXES = 1000, MAX_TEXTS = 400;
/** Height of a pool's label, and of what is drawn in the innermost pools at least, in pixels. */
const LABEL = 22, BAR = 96;
/** About how wide a letter is, and how wide a box must be for a text that runs downwards. */
const LETTER = 7, DOWNWARDS = 16;
/** How far the map zooms in at most, and how wide what is gone to is then at least. */
const MAX_ZOOM = 1e7, SEEN = 24;
/** In how many parts the width of a box is told apart. */
const PARTS = 2 ** 40;

let model = JSON.parse(element('model').textContent);
let areas = areasOf(model);
let search = new Search(model, areas);
const worse = (a, b) => (WORST.indexOf(b) > WORST.indexOf(a) ? b : a);

/** Chosen is a box, or a range of a pool that has no box. Records are those of a Machine or Cluster, for the table. */
const state = {space: 0, scale: 'fit', transform: zoomIdentity, chosen: null, records: null, grid: true, tree: null, boxes: [], roots: []};
const svg = select('#bars');
const picture = svg.append('g');
const zooming = zoom().scaleExtent([1, MAX_ZOOM]).on('zoom', (event) => {
  state.transform = event.transform;
  draw();
}).on('end', () => remember());

const parentOf = (area) => areas[area.pool.parent];
const outline = new Outline(element('outline'), (area) => goTo(area));
const table = new RecordTable(element('records'), (i) => search.areaOf(i), (i) => {
  const area = search.areaOf(i), {from, to} = area.record(i);
  goTo(area, from, to, state.records);
});

/** Width of the picture in pixels. */
const width = () => element('bars').clientWidth;

/** Puts the pools of the chosen space into bars. */
function plant() {
  const all = areas.filter((area) => area.pool.space === state.space);
  state.roots = all.filter((area) => area.ranges.length > 0 && !(parentOf(area)?.ranges.length > 0));
  state.tree = treeOf(state.roots.map((area) => partsOf(area, state.scale)));
  outline.plant(all.filter((area) => !parentOf(area)), all);
  state.chosen = state.records = null;
  svg.call(zooming.transform, zoomIdentity);
  chosen();
}

/** Draws what is in sight. */
function draw() {
  const view = {x: (n) => state.transform.applyX(n), width: width(), most: MAX_BOXES};
  zooming.translateExtent([[0, 0], [view.width, 0]]).extent([[0, 0], [view.width, 1]]);
  const {boxes, merged, leftOut} = state.tree.children ? layout(state.tree, view, worse) : {boxes: [], merged: 0, leftOut: 0};
  state.boxes = boxes;
  const hasGrid = drawCells();
  const deepest = boxes.reduce((depth, box) => Math.max(depth, box.depth), 0);
  const room = window.innerHeight * (hasGrid ? 0.25 : 0.5) - (deepest + 1) * LABEL;
  const height = (deepest + 1) * LABEL + Math.max(BAR, Math.round(room));
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

/** Draws the grid, if there are few enough addresses to show. @returns {boolean} Whether there are. */
function drawCells() {
  const scope = state.grid ? scopeOf(state.chosen, sight()) : null;
  element('grid').hidden = scope === null;
  if (scope === null) return false;
  const columns = element('bars').parentElement.clientWidth > 900 ? 32 : element('bars').parentElement.clientWidth > 520 ? 16 : 8;
  const at = state.chosen && state.chosen.kind !== 'pool' ? state.chosen.from : null;
  const key = [scope.area.index, scope.from, scope.to, columns].join(' ');
  if (element('grid').dataset.key === key) {
    mark(element('grid'), at);
    return true;
  }
  element('grid').dataset.key = key;
  drawGrid(element('grid'), scope, {columns, chosen: at, choose: (value) => {
    const child = scope.area.children.find((area) => area.has(value));
    if (child && scope.area.letterAt(value) === 'p') choose({kind: 'pool', area: child, from: child.from, to: child.to, letter: 'p'});
    else choose({kind: 'tile', area: scope.area, from: value, to: value, letter: scope.area.letterAt(value)});
  }});
  return true;
}

/** @returns {import('./grid.js').Scope|null} The addresses in sight, if they are of one pool. */
function sight() {
  const seen = state.boxes.filter((box) => box.kind !== 'pool' && Math.min(box.x + box.width, width()) - Math.max(box.x, 0) > 0.5);
  if (seen.length === 0 || seen.some((box) => box.area !== seen[0].area)) return null;
  return {area: seen[0].area, from: seen[0].from, to: seen[seen.length - 1].to};
}

/** Draws the names of pools, and signs or words for tiles, as far as there is room: downwards where an innermost pool is narrow. */
function drawTexts(boxes) {
  const around = new Set(boxes.filter((box) => box.kind === 'pool').map((box) => box.parent));
  const texts = [], down = new Set();
  for (const box of boxes) {
    if (box.kind === 'bin' || down.has(box.parent) || texts.length >= MAX_TEXTS) continue;
    let text = textAcross(box);
    if (text === '' && box.kind === 'pool' && box.shown >= DOWNWARDS && !around.has(box)) {
      down.add(box);
      text = textDown(box);
    }
    if (text !== '') texts.push({box, text});
  }
  picture.selectAll('text').data(texts).join('text')
    .attr('class', ({box}) => `on ${box.kind === 'pool' ? 'p' : className(box.letter)}`)
    .attr('transform', ({box}) => (down.has(box) ? `translate(${box.left + box.shown / 2 - 4} ${box.top + 6}) rotate(90)` : `translate(${box.left + 5} ${box.top + 15})`))
    .text((t) => t.text);
}

/** @returns {string} The first text that there is room for, "" for none. */
const firstFit = (texts, room) => texts.find((text) => text.length <= Math.floor(room / LETTER)) || '';

/** What is written on a box. */
function textAcross(box) {
  const {pool} = box.area, range = formatRange(box.from, box.to, box.area.bits);
  const percent = pool.percent === undefined ? '' : ` ${pool.percent}%`;
  const [word, sign] = LETTERS[box.letter];
  return firstFit(box.kind === 'pool' ? [`${pool.title} ${range}${percent}`, `${pool.name} ${range}`, pool.name]
    : [`${word} ${range}, ${formatCount(box.to - box.from + 1n)}`, `${word} ${range}`, word, sign], box.shown - 8);
}

/** What is written downwards on a pool, without its kind. */
function textDown(box) {
  const {pool} = box.area, room = box.height - 12, name = pool.title.slice(pool.title.indexOf(' ') + 1);
  return firstFit([`${name} ${formatRange(box.from, box.to, box.area.bits)}`, name, pool.name], room) || pool.name.slice(0, Math.floor(room / LETTER));
}

/** Says what stands for several, and what may not be seen. */
function tell(merged, leftOut) {
  element('merged').textContent = merged === 0 && leftOut === 0 ? 'Each range is drawn by itself.'
    : `${merged} ranges narrower than 3 px are drawn in bins: the height is use, colour and pattern the worst state.` +
      (leftOut > 0 ? ` ${leftOut} ranges are not drawn; zoom in to see them.` : '');
  const [first, last] = ends();
  element('first').textContent = first || 'no pool of this address space has addresses';
  element('last').textContent = last;
  element('zoom').textContent = `zoom ${state.transform.k < 10 ? state.transform.k.toFixed(1) : Math.round(state.transform.k)}×`;
}

/** @returns {[string, string]} The first and the last address in sight; "" if there is none. */
function ends() {
  const over = (x) => state.boxes.filter((box) => box.x <= x && x <= box.x + box.width).pop();
  const before = (box, x) => BigInt(Math.round((x - box.x) / box.width * PARTS)) * (box.to - box.from + 1n);
  const text = (box, value) => formatRange(value, value, box.area.bits);
  const first = over(0.5), last = over(width() - 0.5);
  return [
    first ? text(first, first.x > -0.5 ? first.from : first.from + before(first, 0) / BigInt(PARTS)) : '',
    last ? text(last, last.x + last.width < width() + 0.5 ? last.to : last.from + (before(last, width()) - 1n) / BigInt(PARTS)) : '',
  ];
}

/** Whether a box is what is chosen, or has it and is the innermost that does. */
function isChosen(box) {
  const {chosen: c} = state;
  if (c === null || c.area !== box.area || (c.kind === 'pool') !== (box.kind === 'pool')) return false;
  return c.from === box.from || (box.kind !== 'pool' && box.from <= c.from && c.from <= box.to);
}

/** Chooses a box or a range, and describes it. Records are those that the table is to show; null for those of the pool. */
function choose(box, records = null) {
  state.chosen = box;
  state.records = records;
  chosen();
  draw();
}

/** Shows what is chosen everywhere but in the picture. */
function chosen() {
  const area = state.chosen ? state.chosen.area : null;
  describe(state.chosen);
  outline.show(area, parentOf);
  const {title, numbers} = state.records || (area ? {
    title: `Records of ${area.pool.title}`, numbers: Array.from({length: area.pool.count}, (_, i) => area.pool.first + i),
  } : {title: '', numbers: []});
  table.show(title, numbers);
  remember();
}

/** Zooms so that a box fills the picture. */
function enter(box) {
  const k = Math.min(Math.max(width() / Math.max(box.span, 1e-9), 1), MAX_ZOOM);
  svg.call(zooming.transform, zoomIdentity.translate(-box.at * k, 0).scale(k));
}

/** Goes to a pool, or to addresses of it, in whatever address space. A block is the pool that it is of. */
function goTo(area, from, to, records = null) {
  const carved = from === undefined ? undefined : area.carved(from, to);
  if (carved) return goTo(carved, undefined, undefined, records);
  if (area.pool.space !== state.space) {
    state.space = area.pool.space;
    element('space').value = String(state.space);
    plant();
  }
  const isPool = from === undefined;
  const box = isPool ? {kind: 'pool', area, from: area.from, to: area.to, letter: 'p'} : {kind: 'tile', area, from, to, letter: area.letterAt(from)};
  const place = placeOf(state.tree, area, isPool ? area.from : from, width());
  if (place && !isPool && area.size > MOST_CELLS) {
    const k = Math.min(Math.max(width() / place.pool.span, SEEN / place.span, 1), MAX_ZOOM);
    svg.call(zooming.transform, zoomIdentity.translate(width() / 2 - (place.at + place.span / 2) * k, 0).scale(k));
  } else if (place) enter(place.pool);
  choose(box, records);
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

/** Goes to the pool around what is chosen, or shows all. */
function out() {
  const around = state.boxes.find(isChosen)?.parent;
  if (around && state.transform.k > 1) {
    choose(around);
    enter(around);
  } else svg.call(zooming.transform, zoomIdentity);
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest('input, select, dialog')) return;
  if (event.target.closest('button') && ['Enter', ' '].includes(event.key)) return;
  switch (event.key) {
    case 'ArrowLeft': case 'ArrowRight': case 'ArrowUp': case 'ArrowDown': {
      if (event.target !== element('bars') && event.target !== document.body) return;
      const box = walk(event.key);
      if (box) choose(box);
      break;
    }
    case 'Enter': if (state.chosen) enter(state.boxes.find(isChosen) || state.chosen); break;
    case 'Backspace': out(); break;
    case '+': case '=': svg.call(zooming.scaleBy, 2); break;
    case '-': svg.call(zooming.scaleBy, 0.5); break;
    case 't': rescale(state.scale === 'fit' ? 'true' : 'fit'); break;
    case 'g': state.grid = !state.grid; draw(); element('grid').querySelector('[tabindex="0"]')?.focus(); break;
    case 'o': outline.focus(); break;
    case 'm': element('bars').focus(); break;
    case '/': element('search').focus(); element('search').select(); break;
    case '?': element('help').showModal(); break;
    default: return;
  }
  event.preventDefault();
}

function rescale(scale) {
  state.scale = scale;
  for (const name of ['fit', 'true']) element(name).setAttribute('aria-pressed', String(name === scale));
  plant();
}

/** Goes from what the system wants to the other of light and dark, and back. */
function recolour() {
  const isDark = getComputedStyle(document.documentElement).colorScheme === 'dark' ||
    (getComputedStyle(document.documentElement).colorScheme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.style.colorScheme = isDark ? 'light' : 'dark';
}

/** Writes what is shown into the address of the page, so that it can be sent. */
function remember() {
  const view = new URLSearchParams();
  view.set('space', model.spaces[state.space] || '');
  if (state.scale === 'true') view.set('scale', 'true');
  if (state.chosen) view.set('pool', state.chosen.area.pool.title);
  if (state.chosen && state.chosen.kind !== 'pool') view.set('at', formatRange(state.chosen.from, state.chosen.from, state.chosen.area.bits));
  if (state.transform.k > 1) view.set('zoom', [state.transform.k, -state.transform.x / width() / state.transform.k].map((n) => Number(n.toPrecision(8))).join(','));
  if (view.toString() !== location.hash.slice(1)) history.replaceState(null, '', '#' + view);
}

/** Shows what the address of the page names, as far as it is there. */
function recall() {
  const view = new URLSearchParams(location.hash.slice(1));
  const space = model.spaces.indexOf(view.has('space') ? view.get('space') : 'default');
  state.space = Math.max(space, 0);
  element('space').value = String(state.space);
  rescale(view.get('scale') === 'true' ? 'true' : 'fit');
  const area = areas.find(({pool}) => pool.title === view.get('pool') && pool.space === state.space);
  const at = area && view.has('at') ? parsePrefix(view.get('at')) : null;
  if (area) goTo(area, ...(at && at.bits === area.bits && area.has(at.from) ? [at.from, at.from] : []));
  const [k, x] = (view.get('zoom') || '').split(',').map(Number);
  if (k >= 1 && k <= MAX_ZOOM && x >= 0 && x <= 1) svg.call(zooming.transform, zoomIdentity.translate(-x * k * width(), 0).scale(k));
}

/** Makes a pattern of each letter, and says what it means. */
function legend() {
  const defs = svg.append('defs');
  for (const [letter, [word, sign]] of Object.entries(LETTERS)) {
    if (PATTERNS[letter]) {
      const pattern = defs.append('pattern').attr('id', `pattern-${className(letter)}`).attr('width', 8).attr('height', 8)
        .attr('patternUnits', 'userSpaceOnUse').attr('class', className(letter));
      pattern.append('rect').attr('width', 8).attr('height', 8);
      pattern.append('path').attr('d', PATTERNS[letter]);
    }
    const item = select('#legend').append('li');
    item.append('span').attr('class', `cell ${className(letter)}`).text(sign);
    item.append('svg').attr('class', 'swatch').attr('aria-hidden', 'true').append('rect').attr('width', 24).attr('height', 16).attr('class', className(letter));
    item.append('span').text(word);
  }
}

/** Shows what the model has beside the pools. */
function present() {
  element('space').replaceChildren(...model.spaces.map((space, i) => make('option', space || 'not known', {value: String(i)})));
  const notes = [
    ...(model.namespace ? [`only namespace ${model.namespace} was looked at: what others have is drawn as not shown`] : []),
    ...model.gaps.map((gap) => 'not shown: ' + gap.text),
  ];
  element('gaps').replaceChildren(...notes.map((note) => make('p', note)));
  element('taken').textContent = `${plural(model.pools.length, 'pool')}, ${plural(model.records.at.length, 'record')}; ` +
    (model.revision ? `revision ${model.revision}, ` : '') + `taken ${model.taken}`;
}

/** Shows a newer model, with the same view. What had the focus is made anew, and gets it again. */
function renew(newer) {
  const focused = ['outline', 'grid'].find((id) => element(id).contains(document.activeElement));
  model = newer;
  areas = areasOf(model);
  search = new Search(model, areas);
  table.forget();
  element('grid').dataset.key = '';
  present();
  recall();
  if (focused) element(focused).querySelector('[tabindex="0"]')?.focus();
  if (document.activeElement === element('search')) element('search').dispatchEvent(new Event('input')); // what was found is of the older one
}

/** Follows the server of the page: shows each newer model, and says whether there may be one. */
function follow() {
  let shown = -1, asked = Promise.resolve();
  const say = (text) => { element('live').textContent = text; };
  const events = new EventSource('events');
  events.onerror = () => say('○ no connection to kubectl weir map; trying again');
  events.onmessage = ({data}) => {
    const {number, trouble} = JSON.parse(data);
    asked = asked.then(async () => {
      if (number !== shown) {
        const answer = await fetch('model');
        if (!answer.ok) throw new Error(answer.statusText);
        renew(await answer.json());
        shown = number;
      }
      say(trouble ? `○ as of ${model.taken}: ${trouble}` : '● live');
    }).catch((error) => say(`○ ${error.message}`));
  };
}

function begin() {
  present();
  element('space').addEventListener('change', () => { state.space = Number(element('space').value); plant(); });
  for (const name of ['fit', 'true']) element(name).addEventListener('click', () => rescale(name));
  element('scheme').addEventListener('click', recolour);
  element('keys').addEventListener('click', () => element('help').showModal());
  searchBox(element('search'), element('found'), element('results'), (text) => search.find(text, state.space), (found) => {
    goTo(found.area, found.from, found.to, found.records);
    element('bars').focus();
  });
  legend();
  svg.call(zooming).on('dblclick.zoom', null);
  document.addEventListener('keydown', onKey);
  recall();
  window.addEventListener('hashchange', recall);
  new ResizeObserver(() => draw()).observe(element('bars').parentElement);
  window.addEventListener('resize', () => draw());
  if (location.protocol === 'http:') follow();
  document.documentElement.dataset.drawn = String(Math.round(performance.now()));
}

begin();
