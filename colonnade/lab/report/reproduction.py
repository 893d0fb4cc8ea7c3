"""A table of a paper, claimed and measured: as rows of text, and as markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from colonnade.lab.report.text import bytes_text, score_text, seconds_text

Result = Mapping[str, Any]  # what `bench.outcome.result_of` gives

CLAIM_HEADS = ("claim", "data", "holds?", "difference", "beyond chance", "n")
NUMBER_HEADS = ("data", "method", "setting", "claimed", "measured", "difference", "holds?", "sent", "seconds")
_IN_BYTES = ("bytes", "bytes-to")


def heading(result: Result) -> str:
    """The name of the table, with its paper."""
    kind, _, number = result["table"].partition("-")
    names = {"table": "Table", "fig": "Fig.", "appendix": "Appendix"}
    table = f"{names.get(kind, kind)} {number.upper()}".strip()
    return f"{result['paper']}, {table}: {result['title']}"


def claim_row(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """One claim on one data set."""
    pairs = claim["pairs"]
    for_it, against = claim["certain"]
    tested = sum(pair["p"] is not None for pair in pairs)
    beyond = f"{for_it} for, {against} against, of {tested}" if tested else "not tested"
    seeds = sorted({pair["n"] for pair in pairs})
    count = "" if not seeds else str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"
    return claim["says"], claim["data"], claim["holds"], _spread(claim), beyond, count


def _spread(claim: Mapping[str, Any]) -> str:
    """The differences of a claim's comparisons, smallest to largest; positive ones speak for it."""
    found = sorted(float(pair["difference"]) for pair in claim["pairs"] if pair["difference"] != "nan")
    if not found:
        return ""
    ends = [found[0]] if len(found) == 1 else [found[0], found[-1]]
    return " to ".join(_difference(value, claim["measure"], claim["check"]) for value in ends)


def _difference(value: float, measure: str, check: str = "") -> str:
    if math.isinf(value):
        return "the other never" if value > 0 else "never reached"
    if check == "reach":
        return f"{value:.3g} times"
    if measure in _IN_BYTES:
        return ("+" if value >= 0 else "-") + bytes_text(abs(value))
    if measure == "seconds":
        return f"{value:+.1f} s"
    return f"{value:+.3f}"


def number_row(line: Mapping[str, Any]) -> tuple[str, ...]:
    """One number beside the paper's."""
    setting = ", ".join(f"{axis} {name}{_here(line, axis)}" for axis, name in line["at"].items()) or "-"
    if line["measure"] != "score":
        setting = f"{setting}; {line['measure']}" if line["at"] else line["measure"]
    claimed = "-" if line["claimed"] is None else _value(line["claimed"], None, line["measure"])
    measured = "never" if line["mean"] is None else _value(line["mean"], line["std"], line["measure"])
    if line["n"] != line["of"]:
        measured += f" ({line['n']} of {line['of']})"
    gap = _difference(line["difference"], line["measure"]) if "difference" in line else ""
    sent = (bytes_text(line["bytes"]) if line["bytes"] else "nothing") if "bytes" in line else ""
    seconds = seconds_text(line["seconds"]) if "seconds" in line else ""
    method = f"{line['method']} (`{line['run']}`)" + (" *" if line["ours"] else "")
    return line["data"], method, setting, claimed, measured, gap, line["holds"], sent, seconds


def _here(line: Mapping[str, Any], axis: str) -> str:
    return f" (here {line['here'][axis]})" if axis in line["here"] else ""


def _value(value: float, std: float | None, measure: str) -> str:
    if measure in _IN_BYTES:
        return bytes_text(value) + ("" if std is None else f" ± {bytes_text(std)}")
    if measure == "seconds":
        return seconds_text(value)
    return score_text(value, std)


def markdown(result: Result) -> str:
    """The whole table."""
    parts = [f"# {heading(result)}", "", about(result), ""]
    parts += differences(result)
    if result["claims"]:
        rows = [claim_row(claim) for claim in result["claims"]]
        parts += ["## Which claims hold", "", *pipes(CLAIM_HEADS, rows), "", READ_CLAIMS, ""]
    if result["numbers"]:
        rows = [number_row(line) for line in result["numbers"]]
        parts += ["## Numbers", "", *pipes(NUMBER_HEADS, rows), "", _read_numbers(result), ""]
    parts += left_out(result)
    return "\n".join(parts).rstrip() + "\n"


READ_CLAIMS = (
    "Difference: of means over seeds, over all comparisons that the claim makes, smallest to largest; positive speaks "
    "for the claim. Beyond chance: comparisons with p < 0.05 in a paired t-test over the n seeds, which share their "
    "rows; of many comparisons, one in twenty is so by luck."
)


def _read_numbers(result: Result) -> str:
    text = "Measured: mean ± standard deviation over seeds on test rows; sent and seconds are means of a run. "
    text += (
        "Holds: at most the tolerance short of the print (above: better by more); not asked where the data are others."
    )
    return text + (" *: not in the paper's table." if any(line["ours"] for line in result["numbers"]) else "")


def about(result: Result) -> str:
    """Whose table it is, and how it was measured."""
    data = result["data"]
    quick = " **Quick: few rows and epochs, only to show that it runs.**" if any(d["quick"] for d in data) else ""
    rows = "the unlabelled training rows (transductive)" if result["protocol"] == "transductive" else "test rows"
    made = listed_once(f"commit {d['commit']}, {d['date']}, {d['hardware']}{_tuned(d)}" for d in data)
    runs, seconds = sum(d["runs"] for d in data), sum(d["core_seconds"] for d in data)
    return (
        f"{result['of']}. {runs} runs, {seconds:,} core-seconds, scored on {rows}; {made or 'nothing was run'}.{quick}"
    )


def _tuned(data: Mapping[str, Any]) -> str:
    tries = data.get("tune", 1)
    return f", each run the best of {tries} tries on validation rows" if tries > 1 else ""


def listed_once(texts: Iterable[str]) -> str:
    """Texts, each once."""
    return "; ".join(dict.fromkeys(texts))


def differences(result: Result) -> list[str]:
    """How data and scale differ from the paper's."""
    lines = [f"- {text}" for text in result["differs"]]
    lines += [f"- `{d['name']}` for {d['paper']}: {d['why']}" for d in result["data"] if d["why"]]
    return ["What differs from the paper:", "", *lines, ""] if lines else []


def left_out(result: Result) -> list[str]:
    """Data that are not at hand, and runs that failed."""
    parts = []
    if result["skipped"]:
        parts += ["Left out:", "", *(f"- {s['name']}: {s['why']}" for s in result["skipped"]), ""]
    if result["failed"]:
        parts += ["Failed:", "", *(f"- {text}" for text in result["failed"]), ""]
    return parts


def pipes(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A markdown table."""
    clean = [[cell.replace("|", "/").replace("\n", " ") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *clean)]
