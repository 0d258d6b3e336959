// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Finds the sections that have all words of a question, those with a word in a heading first. search-index.js has the text.
"use strict";

(() => {
  const most = 20;
  const root = document.body.dataset.root;
  const input = document.getElementById("search");
  const found = document.getElementById("found");

  // score is how well a section fits the words, 0 if one of them is not in it.
  function score(section, words) {
    const title = section.title.toLowerCase();
    const heading = section.heading.toLowerCase();
    const text = section.text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const one = (heading.includes(word) ? 20 : 0) + (title.includes(word) ? 10 : 0) + Math.min(text.split(word).length - 1, 8);
      if (one === 0) return 0;
      sum += one;
    }
    return sum;
  }

  // excerpt is the text around the first word that is in it.
  function excerpt(text, words) {
    const at = words.map((word) => text.toLowerCase().indexOf(word)).find((i) => i >= 0) ?? 0;
    const start = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 60)));
    return (start > 0 ? "... " : "") + text.slice(start, start + 180).trim() + (start + 180 < text.length ? " ..." : "");
  }

  function element(name, text, ...children) {
    const e = document.createElement(name);
    e.textContent = text;
    e.append(...children);
    return e;
  }

  function row(section, words) {
    const name = section.heading ? `${section.title}: ${section.heading}` : section.title;
    const link = element("a", name, element("small", excerpt(section.text, words)));
    link.href = root + section.url;
    return element("li", "", link);
  }

  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fit = window.weirSections.map((section) => ({ section, score: words.length ? score(section, words) : 0 }))
      .filter((f) => f.score > 0).sort((a, b) => b.score - a.score).slice(0, most);
    found.replaceChildren(...fit.map((f) => row(f.section, words)));
    if (words.length && !fit.length) found.replaceChildren(element("li", "", element("p", "Nothing has all of these words.")));
    found.hidden = !words.length;
  }

  input.addEventListener("input", search);
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { input.value = ""; search(); input.blur(); }
    if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  });
  found.addEventListener("click", () => { found.hidden = true; });
})();
