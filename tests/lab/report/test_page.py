"""The page: one file, whole, safe, and reaching for nothing."""

from __future__ import annotations

import html.parser
import re

import pytest

from colonnade.lab.report import write_report
from colonnade.lab.report.curves import average, learning_curves
from colonnade.lab.report.page import render
from colonnade.lab.report.palette import REFERENCE, styles
from colonnade.lab.report.scores import score_by_bytes, score_panels
from colonnade.lab.report.summary import summarise
from colonnade.lab.report.traffic import traffic_bars

from .conftest import comparison_records, make_record, write_comparison, write_run

HOSTILE = "</script><script>document.body.dataset.hacked=1</script><img src=x onerror='boom()'>\"&amp;%{x}"


class Tags(html.parser.HTMLParser):
    """Every element outside scripts, with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def words(text: str) -> str:
    """What a reader reads: no tags, no style, no script."""
    return re.sub(r"\s+", " ", re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", text, flags=re.S))


def test_writes_where_it_is_told_and_leaves_nothing_else(comparison, tmp_path):
    assert write_report(comparison) == comparison / "report.html"
    out = tmp_path / "elsewhere" / "page.html"
    assert write_report(comparison, out) == out
    assert [file.name for file in out.parent.iterdir()] == ["page.html"]
    assert out.read_text(encoding="utf-8") == (comparison / "report.html").read_text(encoding="utf-8")


def test_a_failed_write_keeps_the_old_page(comparison, monkeypatch):
    page = write_report(comparison)
    before = page.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(comparison)
    assert page.read_bytes() == before
    assert sorted(file.name for file in comparison.iterdir()) == ["cells", "report.html"]


def test_loads_nothing(comparison):
    text = write_report(comparison).read_text(encoding="utf-8")
    tags = Tags(text).seen
    assert not [attrs for _, attrs in tags if {"src", "href", "srcset", "action"} & attrs.keys()]
    assert not {tag for tag, _ in tags} & {"link", "iframe", "object", "embed", "img", "base", "form"}
    assert not re.search(r"https?://|@import|url\(", text)
    policy = [attrs["content"] for tag, attrs in tags if tag == "meta" and "http-equiv" in attrs]
    assert policy and policy[0].startswith("default-src 'none'")


def test_every_plot_is_described_and_every_table_has_a_caption(comparison):
    text = write_report(comparison).read_text(encoding="utf-8")
    tags = Tags(text).seen
    pictures = [attrs for _, attrs in tags if attrs.get("class") in ("chart", "map", "pieces")]
    assert len(pictures) > 10 and all(attrs["role"] == "img" and attrs["aria-label"] for attrs in pictures)
    assert text.count("<table") == text.count("<caption") and text.count("<h1") == 1


def hostile_records() -> list[dict]:
    records = [make_record(HOSTILE), make_record('<a href="https://evil.example">x</a>')]
    for record in records:
        record |= {"data": HOSTILE, "config": record["config"] | {HOSTILE: HOSTILE}, "versions": {HOSTILE: HOSTILE}}
        record["scores"][HOSTILE] = 0.5
        record["traffic"]["by_kind"] = {HOSTILE: {"bytes": 5}}
        record["history"][0]["phase"] = HOSTILE
        record["map"]["labels"] = [HOSTILE] * len(record["map"]["labels"])
    return records


def test_strings_from_data_are_escaped(tmp_path):
    records = hostile_records()
    calm = Tags(render([make_record("a"), make_record("b")])).seen
    for text in (render(records), write_report(write_run(tmp_path, records[0])).read_text(encoding="utf-8")):
        tags = Tags(text).seen
        assert sum(tag == "script" for tag, _ in tags) == sum(tag == "script" for tag, _ in calm)
        assert not {tag for tag, _ in tags} - {tag for tag, _ in calm} - {"dl", "dt", "dd", "tbody", "line"}
        assert not any(name.startswith("on") for _, attrs in tags for name in attrs)
        assert "&lt;/script&gt;&lt;script&gt;" in text


def test_the_page_is_small_and_needs_no_script_for_its_charts(comparison, tmp_path):
    """4.8 MB of one run's page were a library for plots."""
    run = write_report(write_run(tmp_path / "run", make_record("fedhssl")))
    assert run.stat().st_size < 100_000 and write_report(comparison).stat().st_size < 500_000
    text = re.sub(r"<script.*?</script>", "", run.read_text(encoding="utf-8"), flags=re.S)
    assert text.count("<polyline") >= 3 and 'class="map"' in text and "JavaScript" not in text


def test_panels_share_colours_and_range_and_use_a_log_axis():
    rows = summarise(comparison_records((0.2, 0.4)))
    look = styles([row.method for row in rows], ["local"])
    panels = score_panels(rows, "accuracy", look)
    assert [panel.title for panel in panels] == ["20% of the rows aligned", "40% of the rows aligned"]
    assert panels[0].y == panels[1].y
    assert panels[0].x.log and [text for _, text in panels[0].x.ticks] == ["1%", "5%", "20%"]
    assert all(one.style == look[one.name.split(":")[0]] for panel in panels for one in panel.series)


def test_a_method_that_sends_nothing_is_a_line():
    rows = [row for row in summarise(comparison_records()) if row.labels == 0.05]
    plot = score_by_bytes(rows, "accuracy", styles([row.method for row in rows], ["local"]))
    (line,) = [one for one in plot.series if one.line]
    assert line.name == "local: alone" and line.style.colour == REFERENCE and plot.x.log
    local = next(row for row in rows if row.method == "local")
    assert [dot.y for dot in line.dots] == [local.mean] * 2 and line.dots[0].text == f"alone {local.mean:.3f}"
    assert [one.dots[0].x for one in plot.series if not one.line] == [row.bytes for row in rows if row.bytes]


@pytest.mark.parametrize("labels", [[None], [10, 20, None], [0.1, 100, None], [0.01, None], [5, 10, 500]])
def test_any_kinds_of_labels_can_stand_on_one_axis(labels):
    rows = summarise([make_record(m) | {"config": {"labels": v, "aligned": None}} for m in "ab" for v in labels])
    panels = score_panels(rows, "accuracy", styles(["a", "b"]))
    assert len(panels) == (len(labels) > 1)
    for panel in panels:
        spots = [spot for spot, _ in panel.x.ticks]
        assert spots == sorted(set(spots)) and len(spots) == len(labels)


def test_curves_average_seeds_and_number_epochs_through_phases():
    """Two seeds, validation 0.4 and 0.6 at the first training epoch, which follows two epochs of pretraining."""
    before = [{"phase": "pretrain", "epoch": epoch, "loss": 1.0, "bytes": 0} for epoch in (1, 2)]
    runs = [{"history": [*before, {"phase": "train", "epoch": 1, "validation": v, "bytes": 50}]} for v in (0.4, 0.6)]
    points = average(runs, "validation")
    assert [(point.epoch, point.bytes) for point in points] == [(3, 50)]
    assert points[0].mean == pytest.approx(0.5) and points[0].std == pytest.approx(0.02**0.5)
    assert [point.epoch for point in average(runs, "loss", "pretrain")] == [1, 2]


def test_a_seed_that_stopped_early_is_carried_forward():
    """Last values 0.9, 0.6 and 0.72: their mean 0.74 stands at every later epoch, not the 0.9 of who still trains."""

    def run(*values: float) -> dict:
        return {"history": [{"epoch": i, "validation": v, "bytes": 10 * i} for i, v in enumerate(values, 1)]}

    points = average([run(0.5, 0.7, 0.8, 0.9), run(0.4, 0.6), run(0.72)], "validation")
    assert [point.epoch for point in points] == [1, 2, 3, 4]
    assert [point.mean for point in points] == pytest.approx([0.54, 0.6733333, 0.7066667, 0.74])
    assert [point.bytes for point in points] == pytest.approx([10, 50 / 3, 20, 70 / 3])
    assert all(point.std is not None for point in points)


def test_curves_of_stopped_seeds_are_drawn_to_the_end():
    histories = [[0.5, 0.7, 0.9], [0.4, 0.6]]
    runs = [
        make_record(seed=seed)
        | {"history": [{"epoch": i, "validation": v, "bytes": i} for i, v in enumerate(found, 1)]}
        for seed, found in enumerate(histories)
    ]
    plot = learning_curves(runs, styles(["splitnn"]))[0]
    assert plot.series[0].dots[-1].y == pytest.approx(0.75) and plot.series[0].dots[-1].spread_y


def test_traffic_bars_are_means_and_leave_out_silence():
    bars = traffic_bars([make_record("splitnn"), make_record("local")])
    assert [re.search("<figcaption>(.*?)</", bar)[1] for bar in bars] == ["By kind of message", "By direction"]
    assert "up (to the active party) 29.3 MB, down (from the active party) 19.5 MB" in bars[1]
    assert "width:60.00%" in bars[1] and "local" not in bars[1]


def test_bare_records_make_a_page(tmp_path):
    bare = {key: make_record()[key] for key in ("method", "data", "task", "metric", "score", "seconds")}
    bare |= {"traffic": {"bytes": 0}, "config": {}}
    assert "splitnn reached accuracy" in render([bare])
    folder = write_comparison(tmp_path, [bare, bare | {"method": "other", "score": float("nan")}])
    assert "not finite" in write_report(folder).read_text(encoding="utf-8")
