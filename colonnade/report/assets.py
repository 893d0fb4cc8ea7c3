"""The page's own style sheet and script; both are inlined."""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #59636e; --paper: #ffffff; --panel: #f6f7f9; --rule: #d9dee4;
  --accent: #0b5fa5; --good: #e3f3ea; --good-ink: #0d5c33; --near: #eef0f3; --near-ink: #454f59; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #a3adb8; --paper: #14181c; --panel: #1c2127; --rule: #343c45;
    --accent: #7fb8ec; --good: #123d28; --good-ink: #9fe0bd; --near: #2a3138; --near-ink: #c3cbd3; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, header, footer { max-width: 1120px; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.25rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .5rem; padding-top: .9rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem; }
p { margin: .25rem 0 .75rem; max-width: 48rem; }
.verdict { font-size: 1.1rem; overflow-wrap: anywhere; }
.note, caption, footer, small { color: var(--soft); font-size: .875rem; }
a { color: var(--accent); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); gap: .6rem; margin: 1.25rem 0 0; }
.tiles div { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: .55rem .8rem; }
.tiles dt { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
.tiles dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.sortable { width: 100%; }
caption { text-align: left; padding-bottom: .5rem; }
caption span { display: block; position: sticky; left: 0; max-width: min(48rem, calc(100vw - 2.5rem)); }
th, td { padding: .3rem .7rem; text-align: left; font-weight: normal; white-space: nowrap; }
tbody th, tbody td { border-top: 1px solid var(--rule); }
.number { text-align: right; }
thead th { padding: 0; }
thead button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; cursor: pointer;
  padding: .35rem .7rem; }
thead button:hover { color: var(--accent); }
th[aria-sort] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
.in-order tr.starts > * { border-top: 2px solid var(--soft); }
tbody tr:hover > * { background: var(--panel); }
tr.best th, .sortable tr.best td:nth-child(4) { font-weight: 600; }
.sortable th[scope=row] { position: sticky; left: 0; background: var(--paper); max-width: 16rem; overflow: hidden;
  text-overflow: ellipsis; }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .5em; }
.mark { display: inline-block; font-size: .75rem; font-weight: 600; border-radius: 4px; padding: 0 .4em;
  margin-left: .4em; min-width: 6.2em; text-align: center; }
.mark.best { background: var(--good); color: var(--good-ink); }
.mark.close { background: var(--near); color: var(--near-ink); }
.sortable td:nth-child(4):not(:has(.mark))::after { content: ""; display: inline-block; width: 6.2em; margin-left: .7em;
  font-size: .75rem; }
.wraps td { white-space: normal; }
.wraps td:nth-child(4)::after { content: none !important; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; font-size: .95rem; margin: .5rem 0 .15rem; overflow-wrap: anywhere; }
.plot { width: 100%; }
.js-plotly-plot .plotly .modebar { top: -1.6rem !important; }
@media (hover: hover) { figure:not(:hover) .modebar { opacity: 0; } }
.bar { position: sticky; top: 0; z-index: 5; background: var(--paper); padding: .6rem 0; display: flex;
  border-bottom: 1px solid var(--rule); flex-wrap: wrap; gap: .3rem .7rem; align-items: center; }
.bar select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; padding: .3rem .5rem; max-width: 100%; }
details { border: 1px solid var(--rule); border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; }
details details { border-width: 1px 0 0; border-radius: 0; margin: .4rem 0 0; padding: .4rem 0 0; }
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
  .sortable { font-size: .875rem; }
  .mark { display: table; min-width: 0; margin: 0 0 0 auto; font-size: .7rem; }
  .sortable td:nth-child(4):not(:has(.mark))::after { display: none; }
}
@media print {
  :root { --ink: #000; --soft: #444; --paper: #fff; --panel: #fff; --rule: #bbb; --good: #fff; --good-ink: #000;
    --near: #fff; --near-ink: #000; }
  body { font-size: 11pt; }
  .bar { position: static; }
  .scroll { overflow: visible; }
  figure, tr { break-inside: avoid; }
  h2, h3, figcaption { break-after: avoid; }
  .plots { display: block; }
  .modebar { display: none; }
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
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;

  function theme() {
    const dark = night.matches && !printing;
    const ink = dark ? "#c9d1d9" : "#3a434c", grid = dark ? "#2d343c" : "#e6e9ed", panel = dark ? "#1c2127" : "#ffffff";
    const axis = { gridcolor: grid, linecolor: dark ? "#4a545e" : "#aab3bc", showline: true, ticks: "outside",
      tickcolor: grid, title: { standoff: 10, font: { size: 13 } } };
    return { layout: { font: { color: ink, size: 13, family: "system-ui, sans-serif" }, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)", xaxis: axis, yaxis: axis, hoverlabel: { bgcolor: panel, bordercolor: grid,
      font: { color: ink } }, modebar: { bgcolor: "rgba(0,0,0,0)", color: "#8a949e", activecolor: ink } } };
  }

  function draw(node) {
    const figure = structuredClone(figures[Number(node.dataset.plot)]);
    figure.layout.template = theme();
    if (printing) figure.layout.width = 680;  // what fits on A4 and Letter
    const config = { responsive: true, displaylogo: false, displayModeBar: "hover",
      modeBarButtons: [["toImage", "resetScale2d"]] };
    return Plotly.react(node, figure.data, figure.layout, config).then(function () {
      node.dataset.drawn = "yes";
      const shown = node.offsetWidth > 0;
      return shown && !printing ? Plotly.Plots.resize(node) : null;  // a width once given stays until asked for anew
    });
  }

  function drawShown(again) {
    document.querySelectorAll(".plot").forEach(function (node) {
      if (!node.closest("[hidden]") && (again || !node.dataset.drawn)) draw(node);
      else if (again) delete node.dataset.drawn;
    });
  }

  function showSetting(chosen) {
    document.querySelectorAll("[data-setting]").forEach(function (node) {
      node.hidden = node.dataset.setting !== chosen;
    });
    drawShown(false);
    document.querySelectorAll("[data-setting]:not([hidden]) .plot").forEach(function (node) {
      if (node.dataset.drawn) Plotly.Plots.resize(node);
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
  if (select) select.addEventListener("change", function () { showSetting(select.value); });
  night.addEventListener("change", function () { drawShown(true); });
  window.addEventListener("beforeprint", function () { printing = true; drawShown(true); });
  window.addEventListener("afterprint", function () { printing = false; drawShown(true); });
  if (select) showSetting(select.value); else drawShown(false);
})();
"""
