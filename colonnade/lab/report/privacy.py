"""What the page says about protections and differential privacy, for records that have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from colonnade.lab.report.text import three_digits

_LEDGER = (
    "party",
    "phase",
    "mechanism",
    "noise_multiplier",
    "noise",
    "noise measured",
    "rate",
    "steps",
    "planned",
    "done",
)
_WHY = "not covered because"
_HEADS = {"noise_multiplier": "noise", "noise": "noise", "rate": "share of rows", "steps": "times"}


def privacy_sections(records: list[dict[str, Any]]) -> list[str]:
    """Sections about what was done to messages, and about the privacy budget; none where nothing was done."""
    return [part for part in (_protections(records), _budgets(records)) if part]


def privacy_line(privacy: dict[str, Any]) -> str:
    """The budget of a run in one line."""
    spent, delta = three_digits(privacy["nominal"]), privacy["delta"]
    if privacy["covered"]:
        return f"ε = {spent} at δ = {delta:g}, {privacy['division']} division"
    return f"no guarantee: the noise is that of ε = {spent}, and not all that was released is covered (see the page)"


def plain_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], words: int = 1) -> str:
    """A table that keeps its order; the first `words` columns are text, the others numbers."""
    side = [' style="padding:.3rem .7rem"' + ("" if i < words else ' class="number"') for i in range(len(heads))]
    head = "".join(f'<th scope="col"{side[i]}><b>{escape(name)}</b></th>' for i, name in enumerate(heads))
    body = "".join(f"<tr>{''.join(_cell(v, i < words) for i, v in enumerate(row))}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><caption><span>{escape(caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: Any, is_text: bool) -> str:
    return f"<td{'' if is_text else ' class=number'}>{escape(_text(value))}</td>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else three_digits(value)


def _protections(records: list[dict[str, Any]]) -> str:
    """What senders did to messages, once for each method."""
    rows = dict.fromkeys(
        (str(record["method"]), *_protection(entry))
        for record in records
        for entry in record.get("protections") or []
        if isinstance(entry, dict)
    )
    if not rows:
        return ""
    caption = (
        "What a sender does to its messages before they leave. Noise without a bound on what it hides is no guarantee."
    )
    cautions = [e.get("caution") for r in records for e in r.get("protections") or [] if isinstance(e, dict)]
    caption += "".join(f" Caution: {text}." for text in dict.fromkeys(cautions) if text)
    heads = ("method", "protection", "messages", "phases", "guarantee", "strength", "clipped to")
    return f"<section><h2>Protections</h2>{plain_table(caption, heads, rows, words=5)}</section>"


def _protection(entry: dict[str, Any]) -> tuple[Any, ...]:
    phases = entry.get("phases")
    where = "all" if phases is None else ", ".join(map(str, phases)) if isinstance(phases, list) else str(phases)
    texts = (str(entry.get(key) or "") for key in ("name", "kind"))
    return (*texts, where, str(entry.get("label") or "none stated"), entry.get("strength"), entry.get("clip"))


def _budgets(records: list[dict[str, Any]]) -> str:
    """ε asked for and spent by each run, and the ledger of the first run of each method."""
    having = [record for record in records if isinstance(record.get("privacy"), dict)]
    if not having:
        return ""
    caption = "Differential privacy: what was asked for, and what was spent. Smaller ε is more private."
    heads = ("method", "division", "covered", "seed", "δ", "ε asked", "ε spent")
    parts = [plain_table(caption, heads, [_budget(record) for record in having], words=3)]
    first: dict[str, dict[str, Any]] = {}
    for record in having:
        first.setdefault(str(record["method"]), record["privacy"])
    parts += [_ledger(method, privacy) for method, privacy in first.items()]
    return f"<section><h2>Privacy budget</h2>{''.join(parts)}</section>"


def _budget(record: dict[str, Any]) -> tuple[Any, ...]:
    privacy = record["privacy"]
    spent = privacy.get("spent")
    covered = privacy.get("covered", spent is not None)
    figure = spent if covered and isinstance(spent, int | float) and math.isfinite(spent) else "no bound"
    seed = record.get("seed", record.get("config", {}).get("seed"))
    words = (str(record["method"]), privacy.get("division"), "yes" if covered else "no")
    return (*words, seed, privacy.get("delta"), privacy.get("epsilon"), figure)


def _ledger(method: str, privacy: dict[str, Any]) -> str:
    """The entries of one run, and what they mean."""
    rows = [row for row in privacy.get("rows") or [] if isinstance(row, dict)]
    rows = [{**row, _WHY: row.get("not_covered") or row.get("not covered") or None} for row in rows]
    columns = [name for name in (*_LEDGER, _WHY) if any(row.get(name) is not None for row in rows)]
    heads = [_HEADS.get(name, name) for name in columns]
    body = [[row.get(name) for name in columns] for row in rows]
    words = sum(name in ("party", "phase", "mechanism") for name in columns)
    table = plain_table(f"Ledger of {method}: every mechanism of every party", heads, body, words) if rows else ""
    lines = str(privacy.get("summary") or "").splitlines()
    return f"<h3>{escape(method)}</h3>{''.join(f'<p>{escape(line)}</p>' for line in lines if line.strip())}{table}"
