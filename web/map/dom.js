// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

/** @param {string} id @returns {HTMLElement} */
export const element = (id) => document.getElementById(id);

/**
 * All text of objects gets into the page here, as text.
 *
 * @param {string} tag
 * @param {string} text
 * @param {Object<string, string>} [attributes]
 * @param {Node[]} [children]
 * @returns {HTMLElement}
 */
export function make(tag, text, attributes = {}, children = []) {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** @param {number} n @param {string} noun @returns {string} */
export const plural = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** @param {number} seconds @returns {string} How long, in one unit. */
export function ago(seconds) {
  const [unit, size] = seconds >= 172800 ? ['d', 86400] : seconds >= 7200 ? ['h', 3600] : seconds >= 120 ? ['m', 60] : ['s', 1];
  return Math.floor(seconds / size) + unit;
}
