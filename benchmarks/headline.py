"""The headline: what federating gives and costs. Its table is made from files in `results/`, never by hand.

`python -m benchmarks.headline` prints the table, and writes it into `README.md` and `results/README.md`; it writes the
page of the comparison with few labels, `results/few-labels.md`, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results import FEW_LABELS, RESULTS, ROOT, Score, of_numbers, of_runs, read
from colonnade.report.text import bytes_text, score_text

START, END = "<!-- headline: made by `python -m benchmarks.headline` -->", "<!-- end of headline -->"
PAGES = (ROOT / "README.md", RESULTS / "README.md")
FIG_5 = RESULTS / "reproduce" / "004-fig-5.json"
#: FedOnce with the paper's settings; the other methods have their defaults
MNIST_ONCE = {"pretrain_epochs": 100, "pretrain_learning_rate": 0.0001, "frequency": 3}
HEADS = ("data", "labels", "alone", "one message", "many rounds", "pooled", "sent once", "sent in rounds")


@dataclass(frozen=True)
class Row:
    """One data set with some labels: the scores of the four ways to learn."""

    data: str
    labels: str
    alone: Score
    once: Score
    rounds: Score
    pooled: Score

    def cells(self) -> list[str]:
        scores = (self.alone, self.once, self.rounds, self.pooled)
        sent = (self.once, self.rounds)
        return [
            self.data,
            self.labels,
            *(_unbroken(score_text(score.mean, score.std)) for score in scores),
            *(_unbroken(bytes_text(score.bytes)) for score in sent),
        ]


def _unbroken(text: str) -> str:
    """`text` with spaces at which a narrow table does not break the line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def rows() -> list[Row]:
    kept = read(FEW_LABELS)["runs"]
    settings = dict.fromkeys((run["data"], run["labels"]) for run in kept)
    few = [_few(kept, data, labels) for data, labels in settings]
    return [*few, _phishing(), _mnist()]


def _few(kept: list[dict[str, Any]], data: str, labels: float) -> Row:
    alone, once, rounds, pooled = (
        of_runs(kept, data=data, labels=labels, method=method)
        for method in ("local", "ss-vfl-i", "splitnn", "combined")
    )
    return Row(data, f"{labels:,}", alone, once, rounds, pooled)


def _phishing() -> Row:
    first = {"active": "1"}
    return Row(
        "phishing",
        "all",
        of_numbers(FIG_5, "phishing", "local", first),
        of_numbers(FIG_5, "phishing", "fedonce", first),
        of_numbers(FIG_5, "phishing", "splitnn"),
        of_numbers(FIG_5, "phishing", "combined"),
    )


def _mnist() -> Row:
    runs = read(RESULTS / "images.json")["runs"]
    options = {"device": "cuda", "head_hidden": [128]}
    once = of_runs(runs, data="mnist", method="fedonce", options=options | MNIST_ONCE)
    alone, rounds, pooled = (
        of_runs(runs, data="mnist", method=method, options=options) for method in ("local", "splitnn", "combined")
    )
    return Row("mnist", "all", alone, once, rounds, pooled)


def table(heads: tuple[str, ...], lines: list[list[str]]) -> str:
    rule = ["---"] * len(heads)
    return "\n".join("| " + " | ".join(line) + " |" for line in (list(heads), rule, *lines))


def headline() -> str:
    return table(HEADS, [row.cells() for row in rows()])


def sentence() -> str:
    """The first row in words, for the top of `README.md`."""
    first = rows()[0]
    scores = (first.alone, first.once, first.rounds, first.pooled)
    alone, once, together, pooled = (f"{score.mean:.2f}" for score in scores)
    one, many = (bytes_text(score.bytes) for score in (first.once, first.rounds))
    return (
        f"Handwritten digits cut into four parties, {first.labels} labels: accuracy\n"
        f"**{alone} alone, {once} with one message from each partner ({one}), {together} in many rounds ({many})**, "
        f"and {pooled} with all\ncolumns in one place."
    )


def with_headline(text: str) -> str:
    """The page `text`, its headline table made anew."""
    before, _, rest = text.partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"The page has no lines {START!r} and {END!r} to put the table between.")
    return f"{before}{START}\n{headline()}\n{END}{after}"


def few_labels_page() -> str:
    """`results/few-labels.md`."""
    record = read(FEW_LABELS)
    runs = record["runs"]
    lines = []
    for data, labels, method in dict.fromkeys((run["data"], run["labels"], run["method"]) for run in runs):
        score = of_runs(runs, data=data, labels=labels, method=method)
        lines.append([data, f"{labels:,}", f"`{method}`", score_text(score.mean, score.std), _sent(score)])
    versions = record["versions"]
    return "\n".join(
        [
            "# Few labels, on data bundled with scikit-learn",
            "",
            "Accuracy on test rows, mean ± standard deviation of seeds 0-2, and mean bytes sent in training. All",
            "options are defaults. `local` is the active party alone. `combined` has all columns in one place; it is",
            "not federated. Early stopping reads as many validation labels as training has. Every run is in",
            "[few-labels.json](few-labels.json).",
            "",
            *(f"    {command}" for command in record["commands"]),
            "",
            f"Commit {record['commit']}, {record['date']}, {record['hardware']}, Python {versions['python']}, torch",
            f"{versions['torch']}. `python -m benchmarks.few_labels` measures again.",
            "",
            table(("data", "labels", "method", "accuracy", "sent"), lines),
            "",
        ]
    )


def _sent(score: Score) -> str:
    return bytes_text(score.bytes) if score.bytes else "nothing"


def write(page: Path, content: str) -> None:
    page.write_text(content, encoding="utf-8")


def main() -> None:
    write(RESULTS / "few-labels.md", few_labels_page())
    for page in PAGES:
        write(page, with_headline(page.read_text(encoding="utf-8")))
    print(headline())


if __name__ == "__main__":
    main()
