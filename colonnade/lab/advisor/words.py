"""Why a method is advised, and what would change the advice, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from colonnade.lab.advisor.mixed import Scale, Seen
from colonnade.lab.advisor.probes import Probe
from colonnade.lab.advisor.recommend import HERE, Candidate, better, expected
from colonnade.lab.advisor.record import Entry, Record
from colonnade.lab.advisor.setting import Setting
from colonnade.lab.report.text import bytes_text, listed, percent_text, score_text
from colonnade.methods.local import Local

NEAREST = 3  # settings of the record that are named
FEW = 50  # validation rows below which probes say little
CHEAPER = 0.1  # of the advised method's bytes


def about(setting: Setting) -> str:
    """The setting in a sentence."""
    what = f"{setting.labelled:,} labelled training rows"
    if setting.classes:
        what += f" of {setting.classes} classes"
    overlap = percent_text(round(setting.aligned / max(setting.rows, 1), 2))
    own = f"{setting.own_columns:,} of {setting.columns:,} columns" if setting.own_columns else "labels only"
    return (
        f"{what}; {setting.aligned:,} of {setting.rows:,} rows aligned ({overlap}); {setting.parties} parties with "
        f"columns; the active party has {own}."
    )


def probe_words(setting: Setting, probes: Mapping[str, Probe]) -> list[str]:
    """What the probes say."""
    if not probes:
        return ["No probe could be made; the advice rests on the record alone."]
    rows = next(iter(probes.values())).rows
    found = []
    joint = {name: probe for name, probe in probes.items() if name != Local.name}
    if Local.name in probes and joint:
        top = min(joint.values(), key=lambda probe: setting.root_error(probe.score))
        alone = probes[Local.name].score
        gain = setting.gain(top.score, alone)
        help_ = "help" if gain > 0 else "do not show that they help"
        found.append(
            f"On {rows:,} validation rows the partners' columns {help_}: {top.method} {score_text(top.score)}, "
            f"{Local.name} {score_text(alone)} ({setting.metric}, short trainings)."
        )
    if rows < FEW:
        found.append(f"Probes on {rows} validation rows say little: the record weighs more.")
    return found


def nearest(record: Record, setting: Setting, method: str) -> list[Entry]:
    """Settings of the record most like this one, one for each data set, in which the method was run."""
    entries = [entry for entry in record.entries if method in entry.methods]
    if not entries:
        return []
    scale = Scale.of(record.seen())
    here = [Seen(HERE, HERE, tuple(setting.features()), method)]
    there = [Seen(e.data, e.name, tuple(e.setting.features()), method) for e in entries]
    alike = scale.alike(here, there)[0]
    found: dict[str, Entry] = {}
    for at in np.argsort(-alike, kind="stable"):
        found.setdefault(entries[at].data, entries[at])
    return list(found.values())[:NEAREST]


def record_words(record: Record, setting: Setting, method: str) -> list[str]:
    """How the method did where the record is most like this setting."""
    found = []
    for entry in nearest(record, setting, method):
        order = sorted(entry.methods, key=lambda name: entry.setting.root_error(entry.methods[name].score))
        found.append(f"{_place(order.index(method) + 1)} of {len(order)} on {entry.name}")
    if not found:
        return []
    return [f"Where the record is most like this, {method} came {listed(found)}."]


def _place(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def chance_words(setting: Setting, order: Sequence[Candidate]) -> list[str]:
    """How sure the choice is."""
    first = order[0]
    if len(order) == 1:
        return [f"{first.method} is the only method left."]
    second = order[1]
    gap = setting.gain(first.score, second.score)
    return [
        f"The chance that it is the best of {len(order)} candidates is {round(100 * first.chance)} %; the runner-up, "
        f"{second.method}, is expected {gap:.3f} behind{_times(second.bytes, first.bytes)}.",
        *likelier_words(order),
    ]


def candidate_words(setting: Setting, probes: Mapping[str, Probe], shown: Sequence[Candidate]) -> list[str]:
    """Of each candidate that is shown: how it compares with the first, and what its expected score rests on."""
    first = shown[0]
    found = []
    for one in shown:
        place = f"{setting.gain(first.score, one.score):.3f} behind{_times(one.bytes, first.bytes)}"
        found.append(f"{one.method}: {'best expected score' if one is first else place}; {_basis(probes, one)}.")
    return found


def _basis(probes: Mapping[str, Probe], one: Candidate) -> str:
    """What the expected score of a candidate rests on."""
    if (probe := probes.get(one.method)) is None:
        return "not tried here, expected from methods like it and from the record"
    return f"tried here, {score_text(probe.score)} on validation rows"


def likelier_words(order: Sequence[Candidate]) -> list[str]:
    """Why the advice is not the candidate with the largest chance to be the best, where that is another."""
    first, likeliest = order[0], max(order, key=lambda one: one.chance)
    if round(100 * likeliest.chance) <= round(100 * first.chance):
        return []
    wider = likeliest.high - likeliest.low > first.high - first.low
    chance = f"{likeliest.method} has a larger chance to be the best ({round(100 * likeliest.chance)} %)"
    because = ": its score is less certain, and may be far better or far worse" if wider else ""
    scores = " and ".join(f"{score_text(one.score)} for {one.method}" for one in (first, likeliest))
    return [f"{chance}{because}. The advice goes by the expected score: {scores}."]


def _times(other: float | None, own: float | None) -> str:
    if other is None or own is None:
        return ""
    if other == own:
        return " and sends as much"
    if not other:
        return " and sends nothing"
    return f" and sends {bytes_text(other)}" + (f", {other / own:.2g} times as much" if own else "")


def change_words(
    setting: Setting, probes: Mapping[str, Probe], record: Record, order: Sequence[Candidate], over: Sequence[Candidate]
) -> list[str]:
    """What would change the advice: other labels, more overlap, another budget; `over` exceed the present one."""
    names, first = [one.method for one in order], order[0]
    found = []
    for what, other in _others(setting).items():
        there = expected(setting, probes, record, names, tuple(other.features()))[0]
        if there.method != first.method:
            found.append(f"With {what}, {there.method} would be advised.")
    if over and better(setting, over[0].score, first.score):
        one = over[0]
        found.append(
            f"Without the budget, {one.method} would be advised: {score_text(one.score)} expected"
            + ("." if one.bytes is None else f", about {bytes_text(one.bytes)} sent.")
        )
    most = CHEAPER * (first.bytes or 0.0)
    cheap = [one for one in order if one.bytes is not None and one.bytes < most]
    if cheap:
        one = cheap[0]
        found.append(
            f"With a tenth of its bytes ({bytes_text(most)}), {one.method}: {score_text(one.score)} expected, "
            f"{bytes_text(one.bytes or 0.0)} sent."
        )
    return found or ["Neither a quarter nor four times as many labels would, nor full overlap."]


def _others(setting: Setting) -> dict[str, Setting]:
    """The setting with other labels and other overlap."""
    most = setting.rows
    found = {
        name: replace(
            setting,
            labelled=min(max(round(factor * setting.labelled), 1), most),
            labelled_aligned=min(max(round(factor * setting.labelled_aligned), 1), setting.aligned),
        )
        for name, factor in (("four times as many labels", 4.0), ("a quarter of the labels", 0.25))
    }
    if setting.aligned < setting.rows:
        found["all rows aligned"] = replace(setting, aligned=setting.rows, labelled_aligned=setting.labelled)
    return {name: other for name, other in found.items() if other != setting}
