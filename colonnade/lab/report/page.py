"""Put the page together: one file that needs nothing else, not even a network."""

from __future__ import annotations

import os
import tempfile
from html import escape
from pathlib import Path

from colonnade.lab.report.answer import comparison_tiles, run_tiles
from colonnade.lab.report.assets import CSS, SCRIPT, WATCH
from colonnade.lab.report.curves import learning_curves
from colonnade.lab.report.kinds import too_little
from colonnade.lab.report.maps import maps
from colonnade.lab.report.matrix import matrices
from colonnade.lab.report.palette import Style, styles
from colonnade.lab.report.parties import explained, parties_in_words, parties_picture
from colonnade.lab.report.privacy import privacy_sections
from colonnade.lab.report.records import Record, read_records, read_target
from colonnade.lab.report.scores import score_by_bytes, score_panels
from colonnade.lab.report.summary import Row, Setting, setting_of, settings, summarise
from colonnade.lab.report.svg import figure, grid, side_by_side
from colonnade.lab.report.tables import configuration, run_figures, summary_table, versions
from colonnade.lab.report.text import setting_text
from colonnade.lab.report.tradeoff import tradeoff_sections, tradeoff_title
from colonnade.lab.report.traffic import traffic_bars
from colonnade.lab.report.verdict import title, verdict

# The browser itself refuses every load: nothing in the data can make the page reach out.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_BYTES = "Further left is cheaper. A dashed line sends nothing: it is what a method is measured against."
_CURVES = (
    "Epochs run on through the phases. Lines are means over seeds, bands one standard deviation; "
    "a seed that stopped early keeps its last value."
)
_TRAFFIC = "Shares of the bytes, mean over seeds. Methods that send nothing are left out."
_MAPS = "Test rows in two dimensions (t-SNE); what matters is which of them lie together."


def write_report(folder: Path | str, out: Path | str | None = None) -> Path:
    """Write the HTML page of the run or comparison in `folder`.

    Args:
        folder: holds `record.json` (a run) or `cells/*.json` (a comparison).
        out: the file to write; by default `folder/report.html`. A page that is there is replaced in one step.

    Raises:
        DataError: `folder` holds nothing that can be shown.
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
    body = "\n".join(part for part in _body(records, rows, target) if part)
    heading = tradeoff_title(records) or title(records, rows)
    lead, picture = parties_in_words(records), parties_picture(records)
    return shell(heading, verdict(records, rows), body, lead=lead, answer=_tiles(records, rows), picture=picture)


def shell(heading: str, sentence: str, body: str, *, lead: str = "", answer: str = "", picture: str = "") -> str:
    """The page around its sections.

    Args:
        heading: of the page.
        sentence: says what came out.
        body: the sections.
        lead: says before the sentence whom it is about.
        answer: says the same in large figures.
        picture: stands beside them.
    """
    heading, sentence = escape(heading), escape(sentence)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<script>{WATCH}</script>\n"
        f'<header><div><h1>{heading}</h1>{lead}<p class="verdict">{sentence}</p>{answer}</div>{picture}</header>\n'
        f"<main>\n{body}\n</main>\n"
        "<footer>Written by Colonnade. Scores are of the test split, bytes of the encoded messages.</footer>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def section(heading: str, body: str, note: str = "") -> str:
    """A section of the page; nothing where it has no body."""
    words = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section><h2>{escape(heading)}</h2>{words}{body}</section>" if body else ""


def folded(heading: str, body: str) -> str:
    """A section that opens when asked."""
    return f'<details class="section"><summary>{escape(heading)}</summary>{body}</details>' if body else ""


def _body(records: list[Record], rows: list[Row], target: float | None) -> list[str]:
    """The sections of the page, the answer first."""
    look = styles([row.method for row in rows], [row.method for row in rows if row.kind != "federated"])
    parts = tradeoff_sections(records, look)
    parts += [run_figures(records[0])] if len(records) == 1 else _comparison(records, rows, look)
    parts += privacy_sections(records)
    if len(records) > 1:
        parts.append(section("Score against labels", _panels(rows, records[0]["metric"], look), _means(rows)))
    parts.append(section("What this is about", explained(records)))
    parts.append(_details(records, rows, look))
    if len(records) > 1:
        parts.append(folded("All numbers", summary_table(rows, records[0]["metric"], look, target)))
    parts.append(folded("Configuration", configuration(records)))
    parts.append(folded("Versions", versions(records)))
    return parts


def _tiles(records: list[Record], rows: list[Row]) -> str:
    """The answer in large figures."""
    return run_tiles(records[0], rows[0]) if len(records) == 1 else comparison_tiles(rows, records[0]["metric"])


def _comparison(records: list[Record], rows: list[Row], look: dict[str, Style]) -> list[str]:
    """The answer in figures, as a chart, and as a table of methods by labels."""
    metric = records[0]["metric"]
    first = [row for row in rows if row.setting == settings(rows)[0]]
    trade = score_by_bytes(first, metric, look)
    table = matrices(rows, metric, look, judged=not too_little(records))
    return [
        section(f"What it costs: {metric} against bytes sent", figure(trade) if trade else "", _BYTES),
        section("Methods", table),
    ]


def _panels(rows: list[Row], metric: str, look: dict[str, Style]) -> str:
    panels = score_panels(rows, metric, look)
    return grid(panels) if panels else ""


def _means(rows: list[Row]) -> str:
    return "Means over seeds; bars are one standard deviation." if any(row.n > 1 for row in rows) else ""


def _details(records: list[Record], rows: list[Row], look: dict[str, Style]) -> str:
    """What belongs to one setting; a list above it chooses which, when there are several."""
    every = settings(rows)
    groups = []
    for number, setting in enumerate(every):
        inner = _one_setting(records, rows, setting, look, first=number == 0)
        if inner:
            hidden = " hidden" if number else ""
            groups.append(f'<div data-setting="{number}"{hidden}>{inner}</div>')
    if not groups:
        return ""
    if len(every) == 1:
        return section("How training went", groups[0])
    options = "".join(
        f'<option value="{i}">{escape(setting_text(*setting))}</option>' for i, setting in enumerate(every)
    )
    bar = f'<div class="bar"><label for="setting">Setting</label><select id="setting">{options}</select></div>'
    return section("How training went", f"{bar}{''.join(groups)}")


def _one_setting(
    records: list[Record], rows: list[Row], setting: Setting, look: dict[str, Style], *, first: bool
) -> str:
    """The parts of one setting; those without anything to show are left out. The first has its trade-off on top."""
    mine = [record for record in records if setting_of(record) == setting]
    trade = None if first else score_by_bytes([row for row in rows if row.setting == setting], mine[0]["metric"], look)
    parts = [
        _part("Score against bytes", _BYTES, [figure(trade)] if trade else []),
        _part("Learning curves", _CURVES, [figure(plot) for plot in learning_curves(mine, look)]),
        _part("Traffic", _TRAFFIC, traffic_bars(mine)),
        folded("Map of the joint representation", _part("", _MAPS, maps(mine))),
    ]
    return "".join(parts)


def _part(heading: str, note: str, figures: list[str]) -> str:
    if not figures:
        return ""
    title_ = f"<h3>{heading}</h3>" if heading else ""
    return f'<section>{title_}<p class="note">{note}</p>{side_by_side(figures)}</section>'
