"""What a reader meets first: who the parties are, what came out, what it costs, methods by labels."""

from __future__ import annotations

import re

from colonnade.lab.report.page import render

from .conftest import comparison_records, make_record
from .test_page import words


def digits(method: str, score: float, sent: int, labels: int = 30, seed: int = 0) -> dict:
    record = make_record(method, labels, 1.0, seed)
    record["traffic"] = record["traffic"] | {"bytes": sent}
    config = record["config"] | {"parties": ["nw", "ne", "sw", "se"], "active": "nw"}
    return record | {"data": "digits", "score": score, "config": config}


def page() -> str:
    scores = {"local": (0.41, 0), "splitnn": (0.78, 4_000_000), "ssvfl": (0.79, 103_000_000), "combined": (0.76, 0)}
    return render(
        [
            digits(method, score + 0.01 * seed, sent, labels, seed)
            for method, (score, sent) in scores.items()
            for labels in (30, 100)
            for seed in range(3)
        ]
    )


def test_the_parties_come_first_with_a_cut_digit():
    text = page()
    assert words(text).index("4 parties hold different columns about the same rows: nw , ne , sw and se ; nw also has")
    assert text.index("4 parties hold") < text.index("With 30 labels") < text.index("What it costs")
    cut = text[text.index('<figure class="cut">') :]
    cut = cut[: cut.index("</figure>")]
    assert cut.count('class="frame"') == 4 and "nw + labels" in cut and cut.count("fill-opacity") > 20
    assert "handwritten digits" in cut


def test_the_picture_is_made_of_the_data():
    """The top left quarter of scikit-learn's first digit has these pixels with ink, of at most 16."""
    from sklearn.datasets import load_digits

    image = load_digits().images[0]
    cut = page()
    piece = cut[cut.index("<title>nw: columns and labels") : cut.index("<title>ne<")]
    ink = [f"{value / image.max():.2f}" for value in image[:4, :4].ravel() if value]
    assert re.findall(r'fill-opacity="([\d.]+)"', piece) == ink


def test_data_without_pixels_have_words_alone():
    text = render(comparison_records())
    assert "3 parties hold different columns about partly the same rows" in words(text) and 'class="cut"' not in text


def test_one_chart_with_levels_for_references_comes_before_the_matrix():
    text = page()
    chart = text[text.index("What it costs: accuracy against bytes sent") : text.index("<h2>Methods")]
    assert chart.count('class="chart"') == 1 and "alone 0.420" in chart and "pooled 0.770" in chart
    assert "100 MB" in chart and ">splitnn</text>" in chart


def test_methods_by_labels_stand_in_one_row_each_with_half_a_line():
    text = page()
    table = text[text.index('<table class="matrix"') :]
    table = table[: table.index("</table>")]
    assert re.findall(r'scope="col"[^>]*>([^<]*)<', table) == ["30 labels", "100 labels"]
    assert re.findall(r"<b>([a-z]+)</b><small>", table) == ["local", "ssvfl", "splitnn", "combined"]
    assert "Pooled, not federated" in table and "the active party alone, on its labelled rows" in table
    assert table.count('class="number best"') == 2 and "103 MB" in table and "0.800</b>" in table
    assert table.index("Federated:") < table.index("ssvfl") < table.index("Pooled, not") < table.index("combined")


def test_maps_and_long_tables_are_folded():
    text = page()
    for part in ('class="map"', '<table class="sortable"', "Configuration of this run"):
        before = text[: text.index(part)]
        assert before.count('<details class="section">') > before.count("</details>"), part
    assert "<details open" not in text


def test_the_tiles_hold_the_answer():
    text = page()
    tiles = text[text.index('<dl class="tiles">') : text.index("</header>")]
    assert re.findall(r"<dd>([^<]*)</dd>", tiles) == ["0.420", "0.790 to 0.800", "0.770"]
    assert "sending 4.00 MB to 103 MB" in tiles and "pooled, not federated" in tiles
