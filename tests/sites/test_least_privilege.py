"""What a run may ask of a party: the operations of the skills that its method needs with its options, and no others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.engines.in_process.engine import InProcess
from colonnade.errors import ConfigError, WireError
from colonnade.methods._base.setup import Setup
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.encoder import Encoding, Keeping
from colonnade.parties.skills.kinds import GRADIENT
from colonnade.parties.skills.skill import Skill, operation
from colonnade.parties.skills.split import Split
from colonnade.sites.policy.policy import Policy, everything, read_policy
from colonnade.sites.skills.privileges import granted, told
from colonnade.sites.skills.train import ASSIGN, FINISH
from colonnade.sites.training.active_site import ActiveSite
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.envelope import Request, open_reply, seal_request
from colonnade.wire.message import Message
from colonnade.wire.wire import MAX_TEXT, Wire
from tests.sites.small import NETWORK, RUN, active_site, passive_sites, write_sites
from tests.sites.test_passive_site import PLAN, ask, assignment, down

MASKED: dict[str, Any] = {"aggregate": True, "secure_aggregation": True}
RUNS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in cn.METHODS),
    ("fedhssl", MASKED),
    ("fed-local-ssl", MASKED),
    ("fed-local-ssl", {"aggregate": True}),
    ("secureboost", {"encrypt": False}),
]
BETWEEN_SITES = [(name, options) for name, options in RUNS if cn.METHODS[name].between_sites]
NONE = np.zeros(0, dtype=np.int64)


def setup_of(method: str, options: dict[str, Any]) -> Setup:
    return cn.METHODS[method](**options).setup()


def foreign(method: str, options: dict[str, Any]) -> list[str]:
    """The operations that a run has no business with."""
    return [name for name in everything().operations if name not in setup_of(method, options).offer.operations]


def put(site: PassiveSite, number: int, name: str, frame: bytes = b"") -> str:
    return open_reply(site.answer(seal_request(Request(RUN, number, name, frame)))).reason


def assigned(folder: Path, method: str, options: dict[str, Any] | None = None) -> PassiveSite:
    """A shop whose owner allows one method and says no more, and that was assigned it."""
    shop = passive_sites(write_sites(folder, {"shop": f'methods = ["{method}"]'}))["shop"]
    given = assignment(shop, method=method, **told(method, setup_of(method, options or {})))
    assert ask(shop, 1, "assign", given) == "done"
    return shop


@pytest.mark.parametrize(("method", "options"), RUNS)
def test_a_party_in_this_process_refuses_what_is_of_another_method(method: str, options: dict[str, Any]) -> None:
    setup = setup_of(method, options)
    party = PassiveParty("shop", None, NONE, skills=setup.skills)
    engine = InProcess([party], Wire(setup.offer.kinds), setup.offer)
    fed = Federation(SimpleNamespace(name="bank"), engine)  # type: ignore[arg-type]
    names = foreign(method, options)
    assert len(names) >= 10
    for name in names:
        kind = everything().operations[name].asks.name
        with pytest.raises(WireError, match=f"{name!r} is no operation of this run"):
            party.perform(name, Message(kind, "bank", "shop", "train"))
        with pytest.raises(WireError, match=f"{name!r} is no operation of this run"):
            fed.ask(name)


@pytest.mark.parametrize(("method", "options"), BETWEEN_SITES)
def test_a_site_refuses_what_is_of_another_method_before_it_opens_it(
    method: str, options: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = assigned(tmp_path, method, options)
    names = [name for name in foreign(method, options) if name not in (ASSIGN.name, FINISH.name)]
    assert len(names) >= 10
    for number, name in enumerate(names, 2):
        with caplog.at_level(logging.WARNING):
            assert f"{name!r} is no operation of this run" in put(shop, number, name)  # it has no frame at all
        assert f"refused request {number}, because: {name!r} is no operation of this run" in caplog.text
    assert shop.last == shop.taken == 1  # none was taken


def test_the_sequence_that_tells_a_site_s_columns_is_refused_at_its_first_request(tmp_path: Path) -> None:
    rows = torch.arange(100, dtype=torch.int32)
    first = down("consensus", {"rows": rows, "consensus": torch.randn(100, 2)}, beta=1e-9, zeta=1e-6)
    shop = assigned(tmp_path / "splitnn", "splitnn")
    assert ask(shop, 2, "prepare", down("plan", **PLAN)) == "answered"
    assert "'fit_linear' is no operation of this run" in ask(shop, 3, "fit_linear", first)
    shop = assigned(tmp_path / "mmvfl", "mmvfl")
    assert ask(shop, 2, "prepare", down("plan", **PLAN)) == "answered"
    assert ask(shop, 3, "fit_linear", first) == "answered"  # there it is what the method does


def test_the_sequence_that_tells_a_site_s_weights_is_refused_at_its_first_request(tmp_path: Path) -> None:
    lesson = {"objective": "simsiam", "epochs": 1, "batch_size": 32, "learning_rate": 0.1, "weight_decay": 0.0,
              "optimizer": "sgd", "seed": 0, "rate": 0.3, "projection": 4, "predictor": 4,
              "towers": "both", "updates": 1, "staleness": 0, "shared": "top"}  # fmt: skip
    shop = assigned(tmp_path / "splitnn", "splitnn")
    assert ask(shop, 2, "prepare", down("plan", **PLAN)) == "answered"
    assert "'enrol' is no operation of this run" in ask(shop, 3, "enrol", down("lesson", **lesson))
    assert "'share' is no operation of this run" in ask(shop, 4, "share", down("order"))
    shop = assigned(tmp_path / "fedhssl", "fedhssl")
    assert ask(shop, 2, "prepare", down("plan", **PLAN)) == "answered"
    assert ask(shop, 3, "enrol", down("lesson", **lesson)) == "answered"
    assert ask(shop, 4, "share", down("order")) == "answered"
    shop = assigned(tmp_path / "masked", "fedhssl", MASKED)
    assert ask(shop, 2, "prepare", down("plan", **PLAN)) == "answered"
    assert ask(shop, 3, "enrol", down("lesson", **lesson)) == "answered"
    assert "'share' is no operation of this run" in ask(shop, 4, "share", down("order"))
    assert ask(shop, 5, "introduce", down("order")) == "answered"


def test_the_sequence_that_tells_sums_by_bin_is_refused_at_its_first_request(tmp_path: Path) -> None:
    shop = assigned(tmp_path, "splitnn")
    assert ask(shop, 2, "prepare", down("plan", **PLAN)) == "answered"
    assert "'bin' is no operation of this run" in ask(shop, 3, "bin", down("binning", bins=8, rows=100, outputs=1))
    pairs = down("derivatives", {"derivatives": torch.ones(100, 2, dtype=torch.int64)})
    assert "'take_derivatives' is no operation of this run" in ask(shop, 4, "take_derivatives", pairs)
    assert "'add_up' is no operation of this run" in ask(shop, 5, "add_up", down("nodes", count=1, output=0))


def test_a_value_and_a_kind_of_another_operation_are_refused(tmp_path: Path) -> None:
    shop = assigned(tmp_path, "fedhssl")
    assert ask(shop, 2, "prepare", down("plan", **PLAN)) == "answered"
    guided = down("order", optimizer="no such", learning_rate=0.1, weight_decay=0.0, gamma=1.0)
    assert "refuses 'begin' with the value 'gamma'" in ask(shop, 3, "begin", guided)
    assert "refuses 'begin' with the value 'secret'" in ask(shop, 3, "begin", down("order", secret=1))
    assert "refuses 'forward' with a 'gradient'" in ask(
        shop, 3, "forward", down("gradient", {"gradient": torch.ones(5, 4)})
    )
    assert "sent a message of an undeclared kind" in ask(shop, 3, "forward", down("nodes", count=1))
    noisy = {"protect": "noise:histogram:1"}
    other = passive_sites(write_sites(tmp_path / "other"))["shop"]
    assert "protect names 'histogram', which does not cross in this run" in ask(
        other, 1, "assign", assignment(other, **noisy)
    )
    assert other.party is None


class Versions:
    """SplitNN's skill as another version might declare it."""

    class Split(Split):
        @operation(asks=GRADIENT, price="nothing")
        def backward(self, message: Message) -> None:
            """One update."""


def test_another_version_of_a_method_is_refused(tmp_path: Path) -> None:
    shop = passive_sites(write_sites(tmp_path))["shop"]
    mine, theirs = setup_of("splitnn", {}), Setup(skills=(Encoding, Versions.Split, Keeping))
    said = ask(shop, 1, "assign", assignment(shop, **told("splitnn", theirs)))
    here, there = mine.offer.digest, theirs.offer.digest
    assert here != there
    assert f"bank runs splitnn as {there}, shop has {here}: install the same version" in said
    assert shop.party is None
    assert ask(shop, 2, "assign", assignment(shop)) == "done"


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"skills": "Encoding Split Keeping Telepathy"}, "with the skill 'Telepathy', which it has not at shop"),
        ({"skills": "Encoding Split Keeping LinearFit"}, "with the skill 'LinearFit', which it has not at shop"),
        ({"skills": "Encoding Split"}, "bank runs splitnn as"),
        ({"method": "splitn"}, "has no method 'splitn' between sites. Did you mean 'splitnn'?"),
        ({"method": "secureboost"}, "has no method 'secureboost' between sites"),
        ({"declarations": None}, "does not say which skills splitnn needs: install the same version"),
        ({"skills": ["Encoding"]}, "refuses 'assign': skills must be a short text"),
    ],
)
def test_an_assignment_of_skills_that_do_not_fit_is_refused(
    changed: dict[str, Any], refusal: str, tmp_path: Path
) -> None:
    shop = passive_sites(write_sites(tmp_path))["shop"]
    message = assignment(shop)
    message.values = {name: v for name, v in {**message.values, **changed}.items() if v is not None}
    assert refusal in ask(shop, 1, "assign", message)
    assert shop.party is None


def test_a_method_without_skills_trains_and_asks_for_nothing(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    passive = passive_sites(files)
    site: ActiveSite = active_site(files, passive)
    record = site.train("local", dict(NETWORK))
    assert record["score"] > 0.5 and record["traffic"]["messages"] == 0
    shop = assigned(tmp_path / "alone", "local")
    assert "Its operations: assign, finish" in put(shop, 2, "prepare")
    assert ask(shop, 3, "finish", down("order")) == "done"


@pytest.mark.parametrize("name", ["lightgbm", "combined", "secureboost"])
def test_a_method_that_does_not_train_between_sites_says_so(name: str, tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    with pytest.raises(ConfigError, match=f"{name} does not train between sites"):
        active_site(files, passive_sites(files)).train(name, {})


def skills_named(count: int, length: int) -> tuple[type[Skill], ...]:
    return tuple(type(f"S{i}".ljust(length, "x"), (Skill,), {}) for i in range(count))


def test_names_of_skills_go_in_as_many_texts_as_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    skills = skills_named(7, 40)
    values = told("splitnn", Setup(skills=skills))
    assert [name for name in values if name != "declarations"] == ["skills", "skills2", "skills3", "skills4"]
    assert all(len(str(text)) <= MAX_TEXT for text in values.values())
    monkeypatch.setattr(cn.METHODS["splitnn"], "skills", skills)
    assert granted("shop", "bank", {"method": "splitnn", **values}) == skills
    for many in (skills_named(9, 40), skills_named(1, 101)):
        with pytest.raises(ConfigError, match="splitnn needs too many skills"):
            told("splitnn", Setup(skills=many))


def options_of_truth(method: str) -> Iterator[dict[str, Any]]:
    """The default options, and each of them that is true or false the other way."""
    made = cn.METHODS[method]()
    yield {}
    for name, value in made.get_params().items():
        if isinstance(value, bool):
            yield {name: not value}
            if name == "secure_aggregation":
                yield {name: not value, "aggregate": True}


@pytest.mark.parametrize("method", cn.METHODS)
def test_a_method_names_every_skill_that_it_may_need(method: str) -> None:
    possible = cn.METHODS[method].skills
    assert len({skill.__name__ for skill in possible}) == len(possible)
    needed = set()
    for options in options_of_truth(method):
        try:
            needed |= set(setup_of(method, options).skills)
        except ConfigError:  # e.g. masks without averaging
            continue
    assert needed == set(possible)


def test_every_limit_that_an_operation_names_is_one_of_a_policy() -> None:
    known = {field.name for field in fields(Policy)}
    operations = everything().operations.values()
    named = {bound.limit for made in operations for bound in made.takes.values() if bound.limit}
    named |= {rule.limit for made in operations for rule in made.rules}
    assert {"width", "epochs", "weights"} <= named <= known


def test_a_limit_holds_for_an_operation_that_no_site_has_heard_of() -> None:
    made = replace(everything().operations["enrol"], name="new")
    allowed = Policy(epochs=5, width=64)
    allowed.check_request(made, down("lesson", updates=5, projection=64), 1)
    for values, refusal in (({"updates": 6}, "updates = 6: epochs = 5"), ({"queue": 65}, "queue = 65: width = 64")):
        with pytest.raises(WireError, match=refusal):
            allowed.check_request(made, down("lesson", **values), 1)


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"methods": ["fedhsl"]}, "methods names 'fedhsl'. Did you mean 'fedhssl'?"),
        ({"operations": ["fit_linea"]}, "operations names 'fit_linea'. Did you mean 'fit_linear'?"),
        ({"kinds": ["place"]}, "kinds names 'place'. Did you mean 'places'?"),
    ],
)
def test_a_policy_that_names_what_there_is_not_is_an_error_with_a_guess(entry: dict[str, Any], error: str) -> None:
    problems: list[str] = []
    read_policy(entry, "[policy]", problems)
    assert problems == [f"[policy]: {error}"]
