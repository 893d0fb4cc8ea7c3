"""Recipes: those that come with Colonnade are sound, and whatever is wrong with one is said at once."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from colonnade.data.datasets import DATASETS
from colonnade.errors import ConfigError
from colonnade.lab.reproduce.form import PAPERS
from colonnade.lab.reproduce.plan import plan
from colonnade.lab.reproduce.recipe import chosen, names, parse, recipe
from colonnade.lab.reproduce.reproduce import EXAMPLE
from tests.lab.reproduce.small_recipe import content

WANTED = {
    "000": "table-2 table-3 table-4 table-6 fig-3 fig-4 fig-6 fig-7",
    "001": "table-1 fig-3",
    "002": "table-2 table-3 fig-2 fig-4 fig-5 fig-6 fig-7",
    "003": "table-2 table-3 table-4 fig-5",
    "004": "table-4 table-6 table-7 table-8 fig-5 fig-6 fig-7 fig-8 fig-9 fig-10 appendix-b appendix-c",
    "digits": "order",
}


def test_every_table_has_a_recipe():
    assert {paper: " ".join(n.removeprefix(f"{paper}-") for n in chosen(paper)) for paper in PAPERS} == WANTED


@pytest.mark.parametrize("name", names())
def test_recipes_are_sound_and_small_when_quick(name: str):
    made = recipe(name)  # reading it checks it
    assert made.name == name and made.claim
    full, quick = plan(made), plan(made, quick=True)
    assert full and len({item.cell.key for item in full}) == len(full)
    assert 0 < len(quick) <= 60 and {item.cell.seed for item in quick} == {0}


def test_the_example_needs_no_data_that_do_not_come_with_the_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    paper = EXAMPLE.split()[2]
    made = [recipe(name) for name in chosen(paper)]
    assert all(DATASETS[data.name].available() for one in made for data in one.data)
    assert not any(one.printed or data.same for one in made for data in one.data)  # no number of a paper is expected
    says = [claim.says for one in made for claim in one.claim]
    assert any(s.startswith("001: ") for s in says) and any(s.startswith("002: ") for s in says)
    assert "in neither paper" in made[0].differs[0]


def test_all_problems_at_once():
    wrong = content()
    wrong["axes"]["epochs"] = [1, 2]
    wrong["settings"]["epoks"] = 3
    wrong["data"].append({"name": "whine", "paper": "Whine"})
    wrong["method"].append({"name": "Trees", "run": "secureboots"})
    wrong["method"].append({"name": "Alone", "run": "local:batch_size=0"})
    wrong["printed"][0]["values"]["Together"] = [0.5]
    wrong["claim"].append({"says": "nonsense", "check": "above", "of": "Nobody"})
    with pytest.raises(ConfigError) as error:
        parse(wrong, "mine.toml")
    for part in (
        "mine.toml: ", "axis 'epochs' is no property of a cell", "setting 'epoks' reaches no method",
        "data 'whine' does not exist. Did you mean 'wine'?", "data 'whine' is not the paper's, and why is empty",
        "there is no method 'secureboots'. Did you mean 'secureboost'?", "method 'Alone' is there twice",
        "batch_size must be a whole number of at least 1",
        "'Together' has 1 values along 'labels', which has few, many",
        "'Nobody' is none of the recipe's methods", "above needs 'than'",
    ):  # fmt: skip
        assert part in str(error.value), part


def test_unknown_keys_and_types_are_refused():
    wrong = content() | {"seeds": "three", "tabel": 1}
    wrong["data"][0]["rows"] = 1.5
    del wrong["title"]
    with pytest.raises(ConfigError) as error:
        parse(wrong, "mine.toml")
    for part in (
        "'tabel' is not known. Did you mean 'table'?",
        "seeds must be int",
        "rows must be int",
        "'title' is missing",
    ):
        assert part in str(error.value), part


def test_a_table_is_found_by_several_names():
    assert chosen("002", "2") == chosen("ssvfl", "table-2") == chosen("SSVFL", "Table 2") == ["002-table-2"]
    assert chosen("004", "fig5") == chosen("fedonce", "Fig. 5") == ["004-fig-5"]
    with pytest.raises(ConfigError, match="there is no paper '005'"):
        chosen("005")
    with pytest.raises(ConfigError, match="paper 003 has no recipe of '9'"):
        chosen("003", "9")


def test_cells_carry_the_axes_and_settings():
    planned = plan(parse(content(), "small"))
    assert len(planned) == 2 * 2 * (1 + 1 + 2)
    one = next(i for i in planned if i.place.method == "SSVFL" and i.place.value("contrast") == "0.1")
    assert one.cell.method == "ssvfl:contrast=0.1" and one.cell.labels == 20 and one.place.value("labels") == "few"
    assert one.cell.options == {"epochs": 3, "hidden": (8,), "width": 4, "batch_size": 64}
    alone = next(i for i in planned if i.place.method == "Alone")
    assert "batch_size" not in alone.cell.options


def test_a_setting_that_names_a_method_beats_one_for_all():
    """Whichever of them stands beside the data."""
    given = content()
    given["settings"] = {"local.epochs": 7, "epochs": 3, "width": 4}
    given["data"][0]["settings"] = {"epochs": 5, "splitnn.width": 9}
    options = {item.cell.method: item.cell.options for item in plan(parse(given, "small"))}
    assert (options["local"]["epochs"], options["splitnn"]["epochs"]) == (7, 5)
    assert (options["local"]["width"], options["splitnn"]["width"]) == (4, 9)


def test_a_method_that_ignores_an_axis_is_run_once():
    fixed = content()
    fixed["method"][0]["fixed"] = ["labels"]
    planned = [i for i in plan(parse(fixed, "small")) if i.place.method == "Alone"]
    assert [(i.place.at, i.cell.labels, i.cell.seed) for i in planned] == [((), 20, 0), ((), 20, 1)]


def test_recipes_name_the_numbers_of_the_paper():
    text = files("colonnade.lab.reproduce.recipes").joinpath("002-table-2.toml").read_text("utf-8")
    printed = tomllib.loads(text)["printed"][0]["values"]
    assert printed["SSVFL"] == [0.6465, 0.9010, 0.9279, 0.9567, 0.9650]


def test_a_method_may_have_its_labels_elsewhere():
    wanted = content()
    wanted["method"][1]["active"] = "server"
    by_method = {item.place.method: item.cell.active for item in plan(parse(wanted, "here"))}
    assert by_method == {"Alone": None, "Together": "server", "SSVFL": None}
    wanted["axes"]["active"] = ["lab1", "lab2"]
    with pytest.raises(ConfigError, match="method 'Together': active and the axis 'active' both say who holds"):
        parse(wanted, "here")


def test_a_recipe_says_how_labels_are_drawn():
    wanted = content() | {"labels_drawn": "random", "labelled_rows": "aligned"}
    cells = [item.cell for item in plan(parse(wanted, "here"))]
    assert {(cell.labels_drawn, cell.labelled_rows) for cell in cells} == {("random", "aligned")}
    plain = [item.cell for item in plan(parse(content(), "here"))]
    assert {(cell.labels_drawn, cell.labelled_rows) for cell in plain} == {(None, None)}  # keys of before
    with pytest.raises(ConfigError, match=r"labels_drawn must be one of stratified, random\. Got 'fair'"):
        parse(wanted | {"labels_drawn": "fair"}, "here")


def test_the_tables_of_002_have_a_server_and_a_random_draw():
    for name in chosen("002"):
        made = recipe(name)
        assert (made.labels_drawn, made.labelled_rows) == ("random", "aligned")
        assert all((entry.active is None) == (entry.run == "local") for entry in made.method)
