"""`colonnade list`: what can run here, on one screen; the rest by `--all`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import colonnade as cn
from colonnade.cli.terminal import console
from colonnade.methods._base.families import FAMILIES
from colonnade.methods._base.options.data import allowed, options_of, problem_of
from colonnade.methods._base.options.text import describe_options

BUNDLED = [name for name, data in cn.DATASETS.items() if not data.files]


def width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(console, "_width", columns)


def test_every_method_has_one_line_under_its_family(colonnade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    width(monkeypatch, 80)
    code, out, _ = colonnade("list")
    lines = out.splitlines()
    assert code == 0 and len(lines) <= 60
    family = ""
    for line in lines[: lines.index("Data sets that are here")]:
        if line.strip() and not line.startswith(" "):
            family = line
        elif line.strip():
            method = cn.METHODS[line.split()[0]]
            assert FAMILIES[method.family] == family and line.rstrip().endswith(method.summary)
    assert all(sum(line.startswith(f"  {name} ") for line in lines) == 1 for name in cn.METHODS)


def test_only_data_sets_that_are_here_are_named_and_the_others_counted(
    colonnade: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    width(monkeypatch, 80)
    _, out, _ = colonnade("list")
    named = [line.split()[0] for line in out[out.index("Data sets that are here") :].splitlines()[2:7]]
    assert named == BUNDLED
    assert f"{len(cn.DATASETS) - len(BUNDLED)} data sets are not here. colonnade data get NAME fetches one." in out
    assert "list --all" in out


def test_a_data_set_whose_file_is_there_is_listed(
    colonnade: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / cn.DATASETS["mfeat"].files[0]
    file.parent.mkdir(parents=True)
    file.write_text("")
    monkeypatch.setenv("COLONNADE_DATA", str(tmp_path))
    _, out, _ = colonnade("list")
    assert "\n  mfeat " in out and f"{len(cn.DATASETS) - len(BUNDLED) - 1} data sets are not here." in out


def test_a_method_without_its_packages_is_set_apart(
    colonnade: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cn.METHODS["lightgbm"], "packages", ("no_such_package",))
    _, out, _ = colonnade("list", "--json", "list.json")
    assert "\n  lightgbm " not in out
    assert "Not installed: lightgbm, by pip install 'colonnade[boost]'" in out
    saved = json.loads((tmp_path / "list.json").read_text())["methods"]
    assert not saved["lightgbm"]["installed"] and saved["local"]["installed"]


def test_an_option_is_shown_with_its_default_its_bounds_and_its_help(
    colonnade: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    width(monkeypatch, 300)
    code, out, _ = colonnade("list", "splitnn", "--json", "options.json")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    saved = {option["name"]: option for option in json.loads((tmp_path / "options.json").read_text())}
    assert code == 0 and list(saved) == [field.name for field in dataclasses.fields(cn.SplitNN)]
    wanted = {
        "learning_rate": ("0.001", "a number above 0"),
        "epochs": ("200", "a whole number of at least 1"),
        "delta": ("1e-05", "a number above 0 and below 1"),
        "join": ("concat", "one of concat, mean, sum"),
        "hidden": ("[128]", "a list of layer widths"),
        "max_bytes": ("none", "a whole number of at least 1, or none"),
    }
    for name, (default, must) in wanted.items():
        assert (saved[name]["default"], saved[name]["allowed"]) == (default, must)
        assert f"{name} {default} {saved[name]['meaning']} Must be {must}." in lines


@pytest.mark.parametrize("name", list(cn.METHODS))
def test_the_words_for_a_bound_are_those_of_the_error(name: str) -> None:
    for option in options_of(cn.METHODS[name]).values():
        if allowed(option):
            assert f"{option.name} must be {allowed(option)}. Got" in str(problem_of(option, object()))


SUMMARIES = "".join(method.summary for method in cn.METHODS.values())
ABOUT = "".join(data.title + data.parties for data in cn.DATASETS.values())
OPTIONS = "".join(option.allowed + option.meaning for option in describe_options(cn.SplitNN))
SHOWN = [
    (["list"], SUMMARIES),
    (["list", "--all"], SUMMARIES + ABOUT),
    (["list", "splitnn"], OPTIONS),
    (["--help"], ""),
]


@pytest.mark.parametrize(("arguments", "texts"), SHOWN, ids=[" ".join(arguments) for arguments, _ in SHOWN])
def test_forty_columns_are_enough(
    colonnade: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], texts: str
) -> None:
    width(monkeypatch, 40)
    code, out, _ = colonnade(*arguments)
    assert code == 0 and max(map(len, out.splitlines())) <= 40
    assert out.count("…") == texts.count("…")  # nothing is cut off


def test_every_method_and_every_extra_is_known() -> None:
    import tomllib

    project = tomllib.loads((Path(cn.__file__).parent.parent / "pyproject.toml").read_text())["project"]
    for name, method in cn.METHODS.items():
        assert method.family in FAMILIES and method.family != "other", name
        assert bool(method.packages) == (method.extra in project["optional-dependencies"]), name
