"""A table of a paper, claimed and measured: as rows of text, and as markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from colonnade.lab.report.text import bytes_text, draw_in_words, score_text, seconds_text

Result = Mapping[str, Any]  # what `bench.outcome.result_of` gives

CLAIM_HEADS = ("claim", "data", "verdict", "difference", "beyond chance", "q", "n")
NUMBER_HEADS = ("data", "method", "setting", "claimed", "measured", "difference", "verdict", "sent", "seconds")
NOT_TESTABLE = "not testable here"
_IN_BYTES = ("bytes", "bytes-to")


def heading(result: Result) -> str:
    """The name of the table, with its paper."""
    kind, _, number = result["table"].partition("-")
    names = {"table": "Table", "fig": "Fig.", "appendix": "Appendix"}
    table = f"{names.get(kind, kind)} {number.upper()}".strip()
    return f"{result['paper']}, {table}: {result['title']}"


def claim_row(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """One claim on one data set."""
    for_it, against, tested = claim["beyond"]
    beyond = f"{for_it} for, {against} against, of {tested}" if tested else "not tested"
    seeds = sorted({pair["n"] for pair in claim["pairs"]})
    count = "" if not seeds else str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"
    q = "" if claim["q"] is None else f"{claim['q']:.3f}"
    return claim["says"], claim["data"], verdict_text(claim), _spread(claim), beyond, q, count


def verdict_text(judged: Mapping[str, Any]) -> str:
    """A verdict, with the reason where nothing can be tested; † where the correction for many claims took it back."""
    if judged["verdict"] == NOT_TESTABLE:
        return f"{NOT_TESTABLE}: {judged['why']}"
    return f"{judged['verdict']} †" if judged["why"] else str(judged["verdict"])


def _spread(claim: Mapping[str, Any]) -> str:
    """The difference of one comparison with its interval; of several, the smallest and the largest."""
    pairs = [pair for pair in claim["pairs"] if pair["difference"] != "nan"]
    found = sorted(pairs, key=lambda pair: float(pair["difference"]))
    if not found:
        return ""
    if len(found) > 1:
        return " to ".join(_gap(pair, claim, "difference") for pair in (found[0], found[-1]))
    one = found[0]
    interval = f" [{_gap(one, claim, 'low')}, {_gap(one, claim, 'high')}]" if one["low"] is not None else ""
    return _gap(one, claim, "difference") + interval


def _gap(pair: Mapping[str, Any], claim: Mapping[str, Any], end: str) -> str:
    value = float(pair[end])
    if pair.get("unit") == "times":
        least = "at least " if end == "difference" and pair.get("at_least") else ""
        return f"{least}{value:.3g} times"
    return _difference(value, claim["measure"])


def _difference(value: float, measure: str) -> str:
    if math.isinf(value):
        return "the other never" if value > 0 else "never reached"
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
    return line["data"], method, setting, claimed, measured, gap, _print_text(line), sent, seconds


def _print_text(line: Mapping[str, Any]) -> str:
    """The verdict beside a print; the reason alone where nothing can be tested."""
    return str(line["why"] if line["verdict"] == NOT_TESTABLE else line["verdict"])


def _here(line: Mapping[str, Any], axis: str) -> str:
    return f" (here {line['here'][axis]})" if axis in line["here"] else ""


def _value(value: float, std: float | None, measure: str) -> str:
    if measure in _IN_BYTES:
        return bytes_text(value) + ("" if std is None else f" ± {bytes_text(std)}")
    if measure == "seconds":
        return seconds_text(value)
    return score_text(value, std)


def markdown(result: Result, remarks: Sequence[str] = ()) -> str:
    """The whole table.

    Args:
        result: of a recipe.
        remarks: what the measurement shows, in words.
    """
    parts = [f"# {heading(result)}", "", about(result), ""]
    parts += differences(result)
    if result["claims"]:
        rows = [claim_row(claim) for claim in result["claims"]]
        parts += ["## Which claims hold", "", *pipes(CLAIM_HEADS, rows), "", READ_CLAIMS, ""]
        parts += [f"- {text}" for text in remarks] + [""] * bool(remarks)
    if result["numbers"]:
        rows = [number_row(line) for line in result["numbers"]]
        parts += ["## Numbers", "", *pipes(NUMBER_HEADS, rows), "", _read_numbers(result), ""]
    parts += left_out(result)
    return "\n".join(parts).rstrip() + "\n"


READ_CLAIMS = (
    "Verdict: *holds* where the 95 % interval of every comparison is above the margin that the claim asks for; "
    "*refuted* where one is wholly below it; *no difference* where all lie within ±.01; *direction only* where all "
    "means are on the right side; *undecided* otherwise. Difference: of means over the n seeds, paired; positive "
    "speaks for the claim; of several comparisons the smallest and the largest, of one its 95 % interval. Beyond "
    "chance: "
    "comparisons with p < .05 in a paired t-test against the margin, corrected for their number (Holm). q: p of the "
    "claim, corrected for all claims of the paper (Benjamini-Hochberg); † is what this correction took back."
)


def _read_numbers(result: Result) -> str:
    text = "Measured: mean ± standard deviation over seeds on test rows; sent and seconds are means of a run. "
    text += (
        "Verdict: *holds* where the 95 % interval over seeds lies above the print less the tolerance, *refuted* where "
        "it lies below; not asked where the data are others."
    )
    return text + (" *: not in the paper's table." if any(line["ours"] for line in result["numbers"]) else "")


def about(result: Result) -> str:
    """Whose table it is, and how it was measured."""
    data = result["data"]
    quick = " **Quick: few rows and epochs, only to show that it runs.**" if any(d["quick"] for d in data) else ""
    rows = "the unlabelled training rows (transductive)" if result["protocol"] == "transductive" else "test rows"
    rows += "".join(f", {words}" for words in draw_in_words(result))
    made = listed_once(f"commit {d['commit']}, {d['date']}, {d['hardware']}{_tuned(d)}{_how(d)}" for d in data)
    runs, seconds = sum(d["runs"] for d in data), sum(d["core_seconds"] for d in data)
    return (
        f"{result['of']}. {runs} runs, {seconds:,} core-seconds, scored on {rows}; {made or 'nothing was run'}.{quick}"
    )


def _tuned(data: Mapping[str, Any]) -> str:
    tries = data.get("tune", 1)
    return f", each run the best of {tries} tries on validation rows" if tries > 1 else ""


def _how(data: Mapping[str, Any]) -> str:
    """The command, and the digest of the code; results of earlier versions have neither."""
    if "command" not in data:
        return ", recorded without command and digest of the code"
    return f", `{data['command']}`, code {data['digest']}"


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
