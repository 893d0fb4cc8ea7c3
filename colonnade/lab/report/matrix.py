"""Methods by labels: one row for each method with what it does, one column for each number of labels."""

from __future__ import annotations

from html import escape

from colonnade.lab.report.kinds import summary_of
from colonnade.lab.report.palette import Style
from colonnade.lab.report.summary import Row, Setting, higher_is_better, marks, setting_order
from colonnade.lab.report.svg import symbol
from colonnade.lab.report.text import aligned_text, bytes_text, percent_text, score_text, setting_text

_GROUPS = {
    "alone": "Alone: the active party's own columns",
    "federated": "Federated: columns stay with their parties, messages are sent",
    "pooled": "Pooled, not federated: all columns in one place",
}


def matrices(rows: list[Row], metric: str, look: dict[str, Style], *, judged: bool) -> str:
    """One table per aligned fraction, or one over aligned fractions where the labels do not vary.

    Args:
        rows: of a comparison.
        metric: of its scores.
        look: the style of each method.
        judged: whether there are enough runs to say which method is best.
    """
    labels, aligned = {row.labels for row in rows}, {row.aligned for row in rows}
    marked = marks(rows, metric) if judged else {}
    if len(labels) == 1 or len(aligned) == 1:
        return _matrix(rows, metric, look, marked, "")
    ordered = sorted(aligned, key=lambda value: setting_order((None, value)))
    parts = []
    for value in ordered:
        title = "rows as given" if value is None else f"{percent_text(value)} of the rows aligned"
        parts.append(_matrix([row for row in rows if row.aligned == value], metric, look, marked, title))
    return "".join(parts)


def _matrix(rows: list[Row], metric: str, look: dict[str, Style], marked: dict[Row, str], title: str) -> str:
    columns = sorted({row.setting for row in rows}, key=setting_order)
    groups = "".join(
        _group(kind, [row for row in rows if row.kind == kind], columns, look, marked)
        for kind in _GROUPS
        if any(row.kind == kind for row in rows)
    )
    head = "".join(f'<th scope="col" class="number">{_head(setting, columns)}</th>' for setting in columns)
    return (
        f'<div class="scroll"><table class="matrix" style="--columns:{len(columns)}">'
        f"<caption>{escape(_caption(rows, metric, title, bool(marked)))}</caption>"
        f"<thead><tr><td></td>{head}</tr></thead>{groups}</table></div>"
    )


def _head(setting: Setting, columns: list[Setting]) -> str:
    labels, aligned = setting
    if len({one for one, _ in columns}) > 1 or len(columns) == 1:
        return setting_text(labels, None)
    return f"{aligned_text(aligned)} aligned"


def _caption(rows: list[Row], metric: str, title: str, marked: bool) -> str:
    better = "higher" if higher_is_better(metric) else "lower"
    seeds = sorted({row.n for row in rows})
    spread = f", mean ± standard deviation over {' to '.join(map(str, seeds))} seeds" if seeds != [1] else ", one seed"
    text = f"{metric} on test rows ({better} is better){spread}; below it the bytes sent"
    note = " Green: the best mean of a federated method; ≈: within one standard deviation of it." if marked else ""
    return f"{title[0].upper()}{title[1:]}: {text}.{note}" if title else f"{text[0].upper()}{text[1:]}.{note}"


def _group(kind: str, rows: list[Row], columns: list[Setting], look: dict[str, Style], marked: dict[Row, str]) -> str:
    """The methods of one kind, in the order in which they stand in the first column."""
    methods = list(dict.fromkeys(row.method for row in rows))
    at = {(row.method, row.setting): row for row in rows}
    head = f'<tr class="kind"><th scope="rowgroup" colspan="{len(columns) + 1}">{_GROUPS[kind]}</th></tr>'
    lines = [
        f'<tr><th scope="row">{symbol(look[method])}<b>{escape(method)}</b>'
        f"<small>{escape(summary_of(method))}</small></th>"
        f"{''.join(_cell(at.get((method, setting)), marked) for setting in columns)}</tr>"
        for method in methods
    ]
    return f"<tbody>{head}{''.join(lines)}</tbody>"


def _cell(row: Row | None, marked: dict[Row, str]) -> str:
    if row is None:
        return '<td class="number">not run</td>'
    mark = marked.get(row, "")
    near = '<span title="within one standard deviation of the best">≈</span> ' if mark == "close" else ""
    score = f"<b>{score_text(row.mean)}</b>"
    spread = "" if row.std is None else f' <span class="spread">± {score_text(row.std)}</span>'
    sent = bytes_text(row.bytes) if row.bytes else "sends nothing"
    name = ' class="number best"' if mark == "best" else ' class="number"'
    return f"<td{name}>{near}{score}{spread}<small>{sent}</small></td>"
