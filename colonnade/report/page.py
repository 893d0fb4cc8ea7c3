"""Put the page together: one file that needs nothing else, not even a network."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from colonnade.errors import MissingDependencyError
from colonnade.report.assets import CSS, SCRIPT, WATCH
from colonnade.report.curves import learning_curves
from colonnade.report.maps import map_plots
from colonnade.report.palette import Plot, Style, styles
from colonnade.report.privacy import privacy_sections
from colonnade.report.records import Record, read_records, read_target
from colonnade.report.scores import score_by_bytes, score_panels
from colonnade.report.summary import Row, Setting, setting_of, settings, summarise
from colonnade.report.tables import configuration, run_figures, summary_table, versions
from colonnade.report.text import setting_text
from colonnade.report.tradeoff import tradeoff_sections, tradeoff_title
from colonnade.report.traffic import traffic_plots
from colonnade.report.verdict import title, verdict

# The browser itself refuses every load: nothing in the data can make the page reach out.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_NOTES = {
    "Score against bytes": "Towards the left is cheaper. A dashed line is a method that sends nothing.",
    "Learning curves": "Epochs run on through the phases. Lines are means over seeds, bands one standard deviation.",
    "Traffic": "Mean over seeds; under each name its total. Methods that send nothing are left out.",
    "Map of the joint representation": "Test rows in two dimensions; what matters is which of them lie together.",
}


def write_report(folder: Path | str, out: Path | str | None = None) -> Path:
    """Write the HTML page of the run or comparison in `folder`.

    Args:
        folder: holds `record.json` (a run) or `cells/*.json` (a comparison).
        out: the file to write; by default `folder/report.html`. A page that is there is replaced in one step.

    Raises:
        DataError: `folder` holds nothing that can be shown.
        MissingDependencyError: plotly is not installed.
    """
    folder = Path(folder)
    text = render(read_records(folder), read_target(folder))
    return write_whole(folder / "report.html" if out is None else Path(out), text)


def write_whole(target: Path, text: str) -> Path:
    """Write a file in one step: it is there whole, or as it was."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        os.replace(temporary, target)  # noqa: PTH105 (the atomic call by its name)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def render(records: list[Record], target: float | None = None) -> str:
    """The whole page as text; with a target score, the table says how many bytes it took to reach it."""
    rows = summarise(records, target)
    book = Book()
    body = _body(records, rows, book, target)
    return shell(tradeoff_title(records) or title(records, rows), verdict(records, rows), body, book)


def shell(heading: str, sentence: str, body: str, book: Book) -> str:
    """The page around its sections: a heading, the sentence that says what came out, and the plots of `book`."""
    heading, sentence = escape(heading), escape(sentence)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<script>{WATCH}</script>\n"
        f'<header><h1>{heading}</h1><p class="verdict">{sentence}</p></header>\n<main>\n{body}\n</main>\n'
        "<footer>Written by Colonnade. Scores are of the test split, bytes of the encoded messages.</footer>\n"
        f"<script>{_plotly('plotly.offline').get_plotlyjs()}</script>\n"
        f'<script type="application/json" id="figures">{book.as_json()}</script>\n'
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


class Book:
    """Collects the plots of the page; each is drawn into the element that carries its number."""

    def __init__(self) -> None:
        self.figures: list[str] = []

    def figure(self, plot: Plot) -> str:
        """The HTML that stands for `plot`, which plotly has checked."""
        checked = _plotly("plotly.graph_objects").Figure(data=plot.data, layout=plot.layout).to_plotly_json()
        checked["layout"].pop("template", None)  # the page's theme takes its place
        self.figures.append(safe_json(checked))
        caption = f"<figcaption>{escape(plot.title)}</figcaption>" if plot.title else ""
        return (
            f"<figure>{caption}"
            f'<div class="plot" role="img" aria-label="{escape(plot.alt)}" data-plot="{len(self.figures) - 1}" '
            f'style="min-height:{plot.layout["height"]}px"></div></figure>'
        )

    def grid(self, plots: list[Plot]) -> str:
        """Several plots, side by side where there is room."""
        return f'<div class="plots">{"".join(self.figure(plot) for plot in plots)}</div>'

    def as_json(self) -> str:
        """All plots as one list."""
        return f"[{','.join(self.figures)}]"


def safe_json(value: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plotly(module: str) -> Any:
    """A module of plotly, imported only now."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError("The report needs plotly. Install it: pip install 'colonnade[report]'") from error


def _body(records: list[Record], rows: list[Row], book: Book, target: float | None) -> str:
    """The sections of the page."""
    look = styles([row.method for row in rows])
    metric = records[0]["metric"]
    parts = tradeoff_sections(records, look, book.grid)
    if len(records) == 1:
        parts.append(run_figures(records[0]))
    else:
        parts.append(f"<section><h2>Summary</h2>{summary_table(rows, metric, look, target)}</section>")
    parts += privacy_sections(records)
    panels = score_panels(rows, metric, look) if len(records) > 1 else []
    if panels:
        by_labels = len({row.labels for row in rows}) > 1
        heading = "Score against labels" if by_labels else "Score"
        note = '<p class="note">Means over seeds; error bars are one standard deviation.</p>'
        parts.append(f"<section><h2>{heading}</h2>{note}{book.grid(panels)}</section>")
    parts.append('<noscript><p class="note">The plots need JavaScript; the numbers above do not.</p></noscript>')
    parts.append(_details(records, rows, look, book))
    parts.append(f"<section><h2>Configuration</h2>{configuration(records)}</section>")
    parts.append(f"<section><h2>Versions</h2>{versions(records)}</section>")
    return "\n".join(parts)


def _details(records: list[Record], rows: list[Row], look: dict[str, Style], book: Book) -> str:
    """What belongs to one setting; a list above it chooses which, when there are several."""
    every = settings(rows)
    groups = []
    for number, setting in enumerate(every):
        inner = _one_setting(records, rows, setting, look, book)
        if inner:
            hidden = " hidden" if number else ""
            groups.append(f'<div data-setting="{number}"{hidden}>{inner}</div>')
    if not groups:
        return ""
    if len(every) == 1:
        return f"<section><h2>In detail</h2>{groups[0]}</section>"
    options = "".join(
        f'<option value="{i}">{escape(setting_text(*setting))}</option>' for i, setting in enumerate(every)
    )
    bar = f'<div class="bar"><label for="setting">Setting</label><select id="setting">{options}</select></div>'
    return f"<section><h2>One setting in detail</h2>{bar}{''.join(groups)}</section>"


def _one_setting(records: list[Record], rows: list[Row], setting: Setting, look: dict[str, Style], book: Book) -> str:
    """The subsections of one setting; those without anything to show are left out."""
    mine = [record for record in records if setting_of(record) == setting]
    trade = score_by_bytes([row for row in rows if row.setting == setting], records[0]["metric"], look)
    groups = {
        "Score against bytes": [trade] if trade else [],
        "Learning curves": learning_curves(mine, look),
        "Traffic": traffic_plots(mine),
        "Map of the joint representation": map_plots(mine),
    }
    return "".join(
        f'<section><h3>{name}</h3><p class="note">{_NOTES[name]}</p>{book.grid(plots)}</section>'
        for name, plots in groups.items()
        if plots
    )
