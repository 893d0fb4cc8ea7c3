"""The page of the advisor's evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.advise_check import ADVISE, PROBES, RECORD, Checked, Way
from benchmarks.appraise_check import Gains
from colonnade.lab.advisor.record import Entry, source
from colonnade.lab.report.text import bytes_text

MADE = "Made by `python -m benchmarks.advise evaluate`; how it is done: [docs/advise.md](../docs/advise.md)."


def page(checked: Checked, frugal: Checked | None, most: float, gains: Gains | None, entries: Sequence[Entry]) -> str:
    """results/advise.md."""
    parts = [
        "# Advice and appraisals, judged on data they have not learnt from",
        "",
        MADE,
        "",
        *_advise(checked, entries),
    ]
    if frugal is not None:
        parts += [f"Among methods that sent {bytes_text(most)} at most:", "", *_ways(frugal), ""]
    return "\n".join([*parts, *_each(checked), *(_appraise(gains) if gains is not None else [])]) + "\n"


def _advise(checked: Checked, entries: Sequence[Entry]) -> list[str]:
    data = len({source(entry.data) for entry in entries})
    covered = {way: f"{share:.0%}" for way, share in checked.covered.items()}
    error = {way: f"{100 * share:.1f} %" for way, share in checked.error.items()}
    return [
        "## advise",
        "",
        f"{len(entries)} settings of {data} data sets. For each, the record of the other data sets and the probes of",
        "seed 0 choose among the methods that were run there. *Hit*: the choice is the best or within one standard",
        "deviation of it. *Regret*: what the choice lacks of the best, in percent of the error of a guess; beside it",
        "that of `advise` in the same settings. Means over data sets.",
        "",
        *_ways(checked),
        "",
        f"Of {checked.runs} single runs, {covered[ADVISE]} are inside the interval that is meant to hold 90 %",
        f"({covered[RECORD]} without probes). Expected scores are off by {error[ADVISE]} of the error of a guess on",
        f"average, without probes by {error[RECORD]}. Bytes are off by a factor of {checked.bytes_factor:.1f} in the",
        f"median, seconds by {checked.seconds_factor:.1f}.",
        "",
    ]


def _ways(checked: Checked) -> list[str]:
    head = ["| choice | settings | data sets | best | hit | regret | advise there |", "|---|---|---|---|---|---|---|"]
    return [*head, *(_line(way) for way in checked.ways())]


def _each(checked: Checked) -> list[str]:
    return [
        "| setting | advised | its score | best | its score | |",
        "|---|---|---|---|---|---|",
        *(
            f"| {c.setting} | `{c.method}` | {c.score:.3f} | `{c.best}` | {c.best_score:.3f} | {'hit' * c.hit} |"
            for c in checked.choices
            if c.way == ADVISE
        ),
        "",
    ]


def _line(way: Way) -> str:
    names = {ADVISE: "**advise**", RECORD: "advise without probes", PROBES: "the best probe"}
    figures = f"{way.best:.0%} | {way.hits:.0%} | {100 * way.regret:.2f} | {100 * way.regret_of_advise:.2f}"
    return f"| {names.get(way.way, f'always `{way.way}`')} | {way.settings} | {way.data} | {figures} |"


def _appraise(gains: Gains) -> list[str]:
    data = len({pair.source for pair in gains.pairs})
    error, zero = (f"{100 * share:.1f} %" for share in (gains.error, gains.zero_error))
    return [
        "## appraise",
        "",
        f"{len(gains.pairs)} partners on {data} data sets. *Predicted*: by one round, on training and validation rows",
        "of seed 0, ± standard deviation over rows and folds. *Realised*: `splitnn` and `ss-vfl-c` with the partner",
        "over `local`, on test rows, mean over both and over seeds. *Expected*: what `appraise` says, i.e. predicted,",
        "corrected by what full training gave on the other data sets.",
        "",
        f"- Correlation of predicted and realised gains {gains.correlation:.2f}; ranks {gains.rank_correlation:.2f}.",
        f"- Realised gains inside the interval meant to hold 90 %: {gains.covered:.0%}; where it counts rows and folds",
        f"  alone, {gains.raw_covered:.0%}.",
        f"- Of {gains.shown} gains whose interval excludes 0, {gains.sign:.0%} have the expected sign.",
        f"- Expected gains are off by {error} of the error of a guess; to expect 0 everywhere is off by {zero}.",
        "",
        "| setting | partner | predicted | expected | realised | bytes |",
        "|---|---|---|---|---|---|",
        *(
            f"| {pair.setting} | {pair.party} | {pair.predicted:+.3f} ± {pair.sampling:.3f} "
            f"| {mean:+.3f} ± {spread:.3f} | {pair.gain:+.3f} | {pair.bytes:,} |"
            for pair, (mean, spread) in zip(gains.pairs, gains.expected, strict=True)
        ),
        "",
    ]
