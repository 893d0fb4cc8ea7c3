"""The page's own style sheet and script; both are inlined."""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #59636e; --paper: #ffffff; --panel: #f6f7f9; --rule: #d9dee4;
  --accent: #0b5fa5; --good: #e3f3ea; --good-ink: #0d5c33; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #a3adb8; --paper: #14181c; --panel: #1c2127; --rule: #343c45;
    --accent: #7fb8ec; --good: #123d28; --good-ink: #9fe0bd; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, header, footer { max-width: 1120px; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.25rem; display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: center; }
header > div { flex: 1 1 24rem; min-width: 0; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h2, details.section > summary { font-size: 1.25rem; font-weight: 700; margin: 2.25rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem; }
p { margin: .25rem 0 .75rem; max-width: 48rem; }
.verdict { font-size: 1.1rem; overflow-wrap: anywhere; max-width: 56rem; }
.note, caption, footer, small { color: var(--soft); font-size: .875rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 13rem), 1fr)); gap: .75rem;
  margin: 1.25rem 0 0; max-width: 62rem; }
.tiles div { background: var(--panel); border: 1px solid var(--rule); border-left: 5px solid var(--soft);
  border-radius: 6px; padding: .6rem .9rem; }
.tiles div.federated { border-left-color: var(--accent); }
.tiles dt { font-size: .95rem; overflow-wrap: anywhere; }
.tiles dt::first-letter { text-transform: uppercase; }
.tiles dd { margin: 0; font-size: 1.75rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tiles dd.note { font-size: .875rem; overflow-wrap: anywhere; }
.tiles .federated dd:not(.note) { color: var(--accent); }
.facts { display: flex; flex-wrap: wrap; gap: .4rem 2rem; margin: 1.25rem 0 0; }
.facts dt { color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
.facts dd { margin: 0; font-variant-numeric: tabular-nums; }
.cut { flex: 0 0 13rem; }
.cut svg { width: 100%; display: block; }
.cut text { font-size: 9px; fill: var(--ink); }
.cut .frame { fill: none; }
.cut figcaption { font-weight: normal; color: var(--soft); font-size: .875rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.sortable, .matrix { width: 100%; }
caption { text-align: left; padding-bottom: .5rem; }
caption span { display: block; position: sticky; left: 0; max-width: min(48rem, calc(100vw - 2.5rem)); }
th, td { padding: .3rem .7rem; text-align: left; font-weight: normal; white-space: nowrap; }
tbody th, tbody td { border-top: 1px solid var(--rule); }
.number { text-align: right; }
.matrix { margin-bottom: 1rem; }
.matrix th, .matrix td { vertical-align: top; }
.matrix thead th { font-weight: 600; }
.matrix small { display: block; }
.matrix th[scope=row] { white-space: normal; width: 42%; padding-left: 0; }
.matrix th[scope=row] b { overflow-wrap: anywhere; }
.matrix .kind th { border-top: 0; border-bottom: 1px solid var(--soft); color: var(--soft); font-size: .875rem;
  padding: 1rem 0 .2rem; white-space: normal; }
.matrix .spread { color: var(--soft); }
.matrix td.best { background: var(--good); color: var(--good-ink); }
.matrix td.best small, .matrix td.best .spread { color: inherit; }
.heat td, .heat th { border: 0; }
.sortable thead th { padding: 0; }
thead button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; cursor: pointer;
  padding: .35rem .7rem; }
thead button:hover { color: var(--accent); }
th[aria-sort] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
.in-order tr.starts > * { border-top: 2px solid var(--soft); }
.sortable tbody tr:hover > * { background: var(--panel); }
.sortable th[scope=row] { position: sticky; left: 0; background: var(--paper); max-width: 16rem; overflow: hidden;
  text-overflow: ellipsis; }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .5em; }
.wraps td { white-space: normal; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.25rem 2rem; }
@media (min-width: 930px) { .plots > :last-child:nth-child(odd) { grid-column: 1 / -1; } }
.plots > :last-child > .map { max-width: 34rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; font-size: .95rem; margin: .5rem 0 .15rem; overflow-wrap: anywhere; }
.chart { padding-right: 1.75rem; padding-bottom: 1.75rem; }
.chart svg, .mark-at { overflow: visible; }
.chart > svg { display: block; }
.axis { color: var(--soft); font-size: .875rem; margin-bottom: .4rem; }
.axis.end { text-align: right; padding-right: 1.75rem; }
.chart text { fill: var(--soft); font-size: 13px; }
.chart text.label { fill: var(--ink); stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
.chart line.grid { stroke: var(--rule); }
.chart polyline { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
.chart polygon { fill-opacity: .13; }
.chart .spread { stroke-width: 1.4; stroke-opacity: .8; }
.mark-at path { stroke: var(--paper); stroke-width: .75; }
.legend { list-style: none; padding: 0; margin: .25rem 0 .5rem; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem;
  font-size: .875rem; }
.legend li { overflow-wrap: anywhere; }
.symbol { vertical-align: -1px; margin-right: .4em; }
.symbol line { stroke-width: 2; }
.map { width: 100%; display: block; max-width: 34rem; border: 1px solid var(--rule); border-radius: 6px; }
.map .dots { fill: none; stroke-width: 6.5; stroke-linecap: round; stroke-opacity: .85; }
.share { margin: .4rem 0 .7rem; font-size: .95rem; overflow-wrap: anywhere; }
.pieces { display: flex; height: 1.35rem; border-radius: 3px; overflow: hidden; background: var(--panel); }
.bar { position: sticky; top: 0; z-index: 5; background: var(--paper); padding: .6rem 0; display: flex;
  border-bottom: 1px solid var(--rule); flex-wrap: wrap; gap: .3rem .7rem; align-items: center; }
.bar select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; padding: .3rem .5rem; max-width: 100%; }
details { border: 1px solid var(--rule); border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; }
details.section { border: 0; border-top: 1px solid var(--rule); border-radius: 0; padding: 0; margin: 1.25rem 0 0; }
details.section > summary { margin: .6rem 0; font-size: 1.05rem; }
details details { margin: .4rem 0 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.pairs { margin: .5rem 0; }
.pairs th, .pairs td { white-space: normal; overflow-wrap: anywhere; vertical-align: top;
  padding: .2rem .7rem .2rem 0; }
.pairs th { color: var(--soft); min-width: 7rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
footer { padding: 2.5rem 1.25rem 2rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[hidden] { display: none !important; }
@media (max-width: 600px) {
  header { padding-top: 1.25rem; }
  main, header, footer { padding-left: .9rem; padding-right: .9rem; }
  h1 { font-size: 1.4rem; }
  th, td { padding: .3rem .45rem; }
  thead button { padding: .3rem .45rem; }
  .sortable th[scope=row] { max-width: 9rem; }
  .sortable, .matrix { font-size: .875rem; }
  .tiles { grid-template-columns: 1fr; }
  .matrix, .matrix tbody, .matrix thead { display: block; }
  .matrix caption { display: block; }
  .matrix tr { display: grid; grid-template-columns: repeat(var(--columns), minmax(5.5rem, 1fr)); }
  .matrix th[scope=row], .matrix .kind th { grid-column: 1 / -1; width: auto; }
  .matrix thead td { display: none; }
  .matrix tbody td { border-top: 0; }
  .matrix .spread { display: block; }
}
@media print {
  :root { --ink: #000; --soft: #444; --paper: #fff; --panel: #fff; --rule: #bbb; --good: #fff; --good-ink: #000; }
  body { font-size: 11pt; }
  .bar { position: static; }
  .scroll { overflow: visible; }
  figure, tr { break-inside: avoid; }
  h2, h3, figcaption { break-after: avoid; }
}
"""

# Runs first: whatever fails later is left on <body>, where a test or a reader can find it.
WATCH = """
(function () {
  function note(text) { document.body.dataset.error = (document.body.dataset.error || "") + text + "\\n"; }
  window.addEventListener("error", function (event) { note(event.message || "a resource failed to load"); });
  window.addEventListener("unhandledrejection", function (event) { note(String(event.reason)); });
  document.addEventListener("securitypolicyviolation", function (event) { note("blocked " + event.blockedURI); });
})();
"""

SCRIPT = """
(function () {
  "use strict";

  function showSetting(chosen) {
    document.querySelectorAll("[data-setting]").forEach(function (node) {
      node.hidden = node.dataset.setting !== chosen;
    });
  }

  function sortValue(row, column) {
    const value = row.cells[column].dataset.value, number = Number(value);
    return value === "nan" ? Infinity : Number.isNaN(number) ? value : number;
  }

  function sortBy(table, column) {
    const heads = Array.from(table.tHead.rows[0].cells), head = heads[column], body = table.tBodies[0];
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(body.rows).sort(function (a, b) {
      const x = sortValue(a, column), y = sortValue(b, column);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    table.classList.remove("in-order");
    body.append.apply(body, rows);
  }

  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.classList.add("in-order");
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      head.querySelector("button").addEventListener("click", function () { sortBy(table, column); });
    });
  });
  const select = document.getElementById("setting");
  if (select) {
    select.addEventListener("change", function () { showSetting(select.value); });
    showSetting(select.value);
  }
})();
"""
