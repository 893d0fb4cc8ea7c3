"""A recipe small enough to run in a test."""

from __future__ import annotations

from typing import Any


def content() -> dict[str, Any]:
    """Of a table on wine: two methods, two numbers of labels, one sweep."""
    return {
        "paper": "002",
        "table": "table-2",
        "title": "a small table",
        "seeds": 2,
        "axes": {"labels": {"few": 20, "many": 60}},
        "settings": {"epochs": 3, "hidden": [8], "width": 4, "ssvfl.batch_size": 64},
        "data": [{"name": "wine", "paper": "Wine", "same": True}],
        "absent": [{"name": "Vineyards", "get": "nobody has them."}],
        "method": [
            {"name": "Alone", "run": "local"},
            {"name": "Together", "run": "splitnn"},
            {"name": "SSVFL", "run": "ssvfl", "over": {"contrast": [0.0, 0.1]}},
        ],
        "printed": [{"data": "wine", "along": "labels", "values": {"Alone": [0.1, 0.99], "Together": [0.2, 0.3]}}],
        "claim": [
            {"says": "together is better", "check": "above", "of": "Together", "than": ["Alone"]},
            {"says": "more labels help", "check": "improves", "of": ["Together"], "along": "labels"},
            {"says": "contrast matters little", "check": "steady", "of": "SSVFL", "along": "contrast", "within": 1.0},
        ],
    }
