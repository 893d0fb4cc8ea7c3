"""`epsilon` in a site's policy: what it prices, what it refuses, and that both sides hear of it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import dp_accounting as dp
import pytest
import torch
from dp_accounting import rdp

from colonnade.errors import WireError
from colonnade.methods._base.setup import SPLIT_SKILLS
from colonnade.parties.skills.skill import offer_of
from colonnade.sites.policy.budget import Budget
from colonnade.sites.policy.policy import Policy, RefusedError, read_policy
from colonnade.sites.policy.prices import Diary, Price, cost
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.envelope import run_of
from colonnade.wire.message import Message
from colonnade.wire.protections import build
from colonnade.wire.protections.asked import Question
from tests.sites.small import NETWORK, RUN, active_site, passive_sites, write_sites
from tests.sites.test_passive_site import PLAN, ask, assignment, down
from tests.sites.test_predict import LATER, batch_of, train

NOISY = "gaussian:representation:1:4"
LESSON: dict[str, Any] = {
    "objective": "nat", "epochs": 2, "batch_size": 16, "learning_rate": 0.1, "weight_decay": 0.0,
    "optimizer": "plain-sgd", "seed": 0, "assignment": "fixed", "clip": 1.0, "noise": 2.0,
}  # fmt: skip
ROWS = 112  # that the shop trains on: 100 assigned and its 12 others
PRIVATE: dict[str, Any] = {**NETWORK, "pretrain_epochs": 2, "pretrain_batch_size": 16, "epsilon": 4.0, "epochs": 2}


def with_policy(folder: Path, policy: str) -> dict[str, Path]:
    return write_sites(folder, dict.fromkeys(("shop", "telco"), policy))


def ready(folder: Path, policy: str, protect: str = NOISY, run: bytes = RUN, method: str = "fedonce-l1") -> PassiveSite:
    """A shop with an encoder, in the first request after which lessons can come, number 3."""
    sites = passive_sites(with_policy(folder, policy) if not folder.exists() else here(folder), run)
    shop = sites["shop"]
    given = assignment(shop, method=method, protect=protect, digest=shop.table.digest(run))
    assert ask(shop, 1, "assign", given, run) == "done"
    assert ask(shop, 2, "prepare", down("plan", **PLAN), run) == "answered"
    return shop


def here(folder: Path) -> dict[str, Path]:
    return {name: folder / name / "site.toml" for name in ("bank", "shop", "telco")}


def by_hand(*events: Any, delta: float = 1e-5) -> float:
    """ε by dp-accounting itself."""
    accountant = rdp.RdpAccountant()
    for event in events:
        accountant.compose(event)
    return float(accountant.get_epsilon(delta))


def steps(noise: float, rate: float, count: int) -> Any:
    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise)), count)


def releases(noise: float, count: int) -> Any:
    return dp.SelfComposedDpEvent(dp.GaussianDpEvent(noise), count)


def test_entries_are_read_and_all_problems_told() -> None:
    problems: list[str] = []
    policy = read_policy({"epsilon": 4, "delta": 1e-6, "covers": "models", "epsilon_total": 9.5}, "[policy]", problems)
    assert not problems
    assert (policy.epsilon, policy.delta, policy.covers, policy.epsilon_total) == (4.0, 1e-6, "models", 9.5)
    assert read_policy({}, "[policy]", problems).delta == 1e-5
    read_policy({"epsilon": 0, "delta": 2, "covers": "rows", "epsilon_total": True}, "[policy]", problems)
    assert len(problems) == 4 and "above 0 and below 1. Got 2." in problems[1] and "one of all, models" in problems[2]
    problems.clear()
    read_policy({"delta": 1e-6}, "[policy]", problems)
    assert problems == ["[policy]: delta needs epsilon beside it."]


def test_both_sides_hear_that_representations_need_noise(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = with_policy(tmp_path, "epsilon = 4")
    for protect in ((), ("noise:representation:5",), ("gaussian:gradient:1:4",)):
        with caplog.at_level(logging.WARNING), pytest.raises(WireError, match=r"site 'shop': the policy refuses repr"):
            active_site(files, passive_sites(files)).train("splitnn", {**NETWORK, "protect": protect})
        assert "refused request 1, because: the policy refuses representations without a guarantee" in caplog.text


def test_noise_that_costs_too_much_at_once_is_refused_before_anything(tmp_path: Path) -> None:
    files = with_policy(tmp_path, "epsilon = 0.5")
    with pytest.raises(WireError, match=r"even one representation of each row: .* and epsilon = 0.5"):
        active_site(files, passive_sites(files)).train("splitnn", {**NETWORK, "protect": (NOISY,)})


def test_training_without_a_price_is_refused(tmp_path: Path) -> None:
    files = with_policy(tmp_path, "epsilon = 4")
    with pytest.raises(WireError, match=r"the policy refuses 'begin': epsilon = 4 allows prepare, .* alone"):
        active_site(files, passive_sites(files)).train("splitnn", {**NETWORK, "protect": (NOISY,)})
    with pytest.raises(WireError, match="a lesson without differential privacy: epsilon = 4"):
        active_site(files, passive_sites(files, LATER), LATER).train(
            "fedonce", {**NETWORK, "pretrain_epochs": 1, "protect": (NOISY,)}
        )


def test_a_private_run_passes_and_is_priced_as_dp_accounting_says(tmp_path: Path) -> None:
    files = with_policy(tmp_path, "epsilon = 6")
    passive = passive_sites(files)
    record = active_site(files, passive).train("fedonce-l1", {**PRIVATE, "protect": (NOISY,)})
    assert record["score"] > 0
    shop = passive["shop"]
    assert shop.budget is not None and shop.party is not None and shop.party.account is not None
    (lesson,) = shop.budget.lessons
    rows = len(shop.party.tables["train"])
    assert (lesson.rate, lesson.uses) == (16 / rows, shop.party.account.done)
    written = json.loads((tmp_path / "shop" / "out" / "privacy.json").read_text())
    noise, release = written[RUN.hex()]
    assert release == {"sampled": False, "noise": 4.0, "rate": 1.0, "uses": 1}  # each row left once
    assert noise == {"sampled": True, "noise": lesson.noise, "rate": lesson.rate, "uses": lesson.uses}
    spent = cost([Price(**noise), Price(**release)], "shop", 1e-5)
    assert spent == pytest.approx(by_hand(steps(lesson.noise, 16 / rows, lesson.uses), releases(4, 1)), rel=1e-6)
    assert spent < 6


def test_encoders_as_they_were_drawn_cost_nothing(tmp_path: Path) -> None:
    files = with_policy(tmp_path, "epsilon = 1.2")
    passive = passive_sites(files)
    active_site(files, passive).train("fedonce-l1", {**PRIVATE, "pretrain_epochs": 0, "protect": (NOISY,)})
    assert passive["shop"].budget is not None and not passive["shop"].budget.lessons


def test_lessons_of_a_run_add_up(tmp_path: Path) -> None:
    rate, count = 16 / ROWS, 14
    one, two = (by_hand(steps(2.0, rate, n * count)) for n in (1, 2))
    shop = ready(tmp_path / "sites", f'epsilon = {(one + two) / 2}\ncovers = "models"')
    assert ask(shop, 3, "plan_private", down("lesson", **LESSON)) == "answered"
    assert ask(shop, 4, "pretrain", down("lesson", **LESSON)) == "done"
    said = ask(shop, 5, "pretrain", down("lesson", **LESSON))
    assert f"this lesson: with what was done before, it would cost ε = {two:.2g}"[:-1] in said and "epsilon = " in said
    assert shop.party is not None and shop.party.lessons == 1
    assert ask(shop, 6, "represent", down("rows", {"rows": torch.arange(5)})) == "answered"
    gradient = down("gradient", {"gradient": torch.ones(5, 4)})
    assert "'backward' is no operation of this run" in ask(shop, 7, "backward", gradient)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"noise": None}, "without differential privacy"),
        ({"clip": None}, "without differential privacy"),
        ({"clip": None, "noise": None}, "without differential privacy"),
        ({"noise": 0.0}, "it would cost ε = inf"),
        ({"noise": 0.2}, "this lesson: with what was done before"),
        ({"epochs": 10**6}, "this lesson: with what was done before"),
        ({"assignment": "batch"}, "to learn 'nat' with assignment 'batch'"),
        ({"objective": "pca"}, "to learn 'pca' with assignment 'fixed'"),
        ({"objective": "pca", "epochs": 0}, "to learn 'pca'"),
        ({"objective": "moco"}, "to learn 'moco'"),
    ],
)
def test_lessons_without_or_beyond_a_price_are_refused(changed: dict[str, Any], why: str, tmp_path: Path) -> None:
    shop = ready(tmp_path / "sites", "epsilon = 4")
    assert shop.party is not None
    before = {name: weight.clone() for name, weight in shop.party.state().items()}
    lesson = {name: value for name, value in {**LESSON, **changed}.items() if value is not None}
    said = ask(shop, 3, "pretrain", down("lesson", **lesson))
    assert said.startswith("refused: the policy refuses") and why in said
    assert all(torch.equal(weight, before[name]) for name, weight in shop.party.state().items())


@pytest.mark.parametrize(
    ("method", "operation"),
    [
        *(("splitnn", name) for name in ("forward", "backward", "begin")),
        *(("fedhssl", name) for name in ("enrol", "cross", "cross_again", "study", "share", "adopt")),
        ("mmvfl", "fit_linear"),
    ],
)
def test_what_has_no_price_is_refused(method: str, operation: str, tmp_path: Path) -> None:
    shop = ready(tmp_path / "sites", 'epsilon = 100\ncovers = "models"', method=method)
    assert shop.party is not None
    kind = shop.party.offer.operation(operation).asks.name
    assert f"the policy refuses '{operation}': epsilon = 100 allows prepare, " in ask(shop, 3, operation, down(kind))


def test_rows_are_counted_as_often_as_they_leave(tmp_path: Path) -> None:
    once, twice = (by_hand(releases(4, n)) for n in (1, 2))
    shop = ready(tmp_path / "sites", f"epsilon = {(once + twice) / 2}")

    def want(number: int, first: int, **values: Any) -> str:
        return ask(shop, number, "represent", down("rows", {"rows": torch.arange(first, first + 10)}, **values))

    assert want(3, 0) == "answered" and want(4, 10) == "answered" and want(5, 20, also="valid") == "answered"
    assert "representations of these rows: with what was done before, it would cost ε = " in want(6, 5)
    assert "representations of these rows" in ask(shop, 7, "represent", down("rows", table="train"))
    assert "representations of these rows" in ask(shop, 8, "represent", down("rows", table="valid"))
    assert want(9, 30) == "answered"
    written = json.loads((tmp_path / "sites" / "shop" / "out" / "privacy.json").read_text())
    assert [price["uses"] for price in written[RUN.hex()]] == [1]


def test_a_phase_without_the_noise_is_refused(tmp_path: Path) -> None:
    shop = ready(tmp_path / "sites", "epsilon = 4", protect=f"{NOISY}@validate")
    said = ask(shop, 3, "represent", down("rows", {"rows": torch.arange(5)}))
    assert "representations without a guarantee in phase 'train'" in said


def test_noise_of_two_strengths_is_paid_for_both() -> None:
    budget = Budget(Policy(epsilon=2.0), "shop", RUN, None)
    first, second = build(("gaussian:representation:1:4@train", "gaussian:representation:1:8@validate"), 0)
    for made in (first, second):
        made.learn(offer_of(*SPLIT_SKILLS).kinds)
    budget.release(Question("train", torch.arange(3)), "train", [first, second])
    budget.release(Question("train", torch.arange(3)), "validate", [first, second])
    spent = [Price(False, noise, 1.0, 1) for noise in (4.0, 8.0)]
    assert cost(spent, "shop", 1e-5) == pytest.approx(by_hand(releases(4, 1), releases(8, 1)), rel=1e-6)
    with pytest.raises(RefusedError, match="representations of these rows"):
        for _ in range(9):
            budget.release(Question("train", torch.arange(3)), "train", [first, second])


def test_models_are_covered_and_representations_trusted_where_the_owner_says_so(tmp_path: Path) -> None:
    files = with_policy(tmp_path, 'epsilon = 4\ncovers = "models"')
    active_site(files, passive_sites(files)).train("fedonce-l1", dict(PRIVATE))


def test_all_runs_together_are_limited(tmp_path: Path) -> None:
    one, two = (by_hand(steps(2.0, 16 / ROWS, n * 14)) for n in (1, 2))
    policy = f'epsilon = {2 * one}\nepsilon_total = {(one + two) / 2}\ncovers = "models"'
    folder = tmp_path / "sites"
    first = ready(folder, policy)
    assert ask(first, 3, "pretrain", down("lesson", **LESSON)) == "done"
    again = ready(folder, policy)  # the same run, done again after a crash
    assert ask(again, 3, "pretrain", down("lesson", **LESSON)) == "done"
    second = ready(folder, policy, run=LATER)
    assert "epsilon_total = " in ask(second, 3, "pretrain", down("lesson", **LESSON), LATER)
    (folder / "shop" / "out" / "privacy.json").write_text("{")
    third = ready(folder, policy, run=run_of("a third"))
    assert "cannot be read. Its owner may remove it" in ask(
        third, 3, "pretrain", down("lesson", **LESSON), run_of("a third")
    )


def test_a_run_that_is_done_again_is_not_written_twice(tmp_path: Path) -> None:
    diary = Diary(tmp_path, "a")
    price = Price(True, 2.0, 0.1, 30)
    diary.write([price])
    assert diary.paid([price]) and not diary.paid([price, price]) and not diary.paid([price._replace(noise=1.0)])
    diary.write([price._replace(uses=10)])
    assert Diary(tmp_path, "b").others() == [price]


def test_predictions_are_priced_and_need_a_private_part(tmp_path: Path) -> None:
    files = with_policy(tmp_path / "plain", "")
    train(files, "fedonce", pretrain_epochs=1, protect=(NOISY,))
    for name in ("shop", "telco"):
        text = files[name].read_text()
        files[name].write_text(text + "epsilon = 4\n")
    with pytest.raises(AssertionError, match="this part was learnt without one"):
        batch_of(files, [100, 101])
    files = with_policy(tmp_path / "private", "epsilon = 1.2")
    train(files, "fedonce-l1", **{**PRIVATE, "pretrain_epochs": 0, "protect": (NOISY,)})
    batch_of(files, [100, 101, 102])
    written = json.loads((tmp_path / "private" / "shop" / "out" / "privacy.json").read_text())
    assert written[LATER.hex()] == [{"sampled": False, "noise": 4.0, "rate": 1.0, "uses": 1}]


def test_two_lessons_do_not_share_their_noise(tmp_path: Path) -> None:
    shop = ready(tmp_path / "sites", 'epsilon = 1000\ncovers = "models"')
    assert shop.party is not None
    ends = []
    for number in (3, 5):
        assert ask(shop, number, "prepare", down("plan", **PLAN)) == "answered"  # the same encoder anew
        assert ask(shop, number + 1, "pretrain", down("lesson", **{**LESSON, "epochs": 1})) == "done"
        ends.append(torch.cat([weight.flatten() for weight in shop.party.state().values()]))
    assert not torch.allclose(ends[0], ends[1])


def test_a_layer_and_an_update_too_many_are_refused(tmp_path: Path) -> None:
    shop = passive_sites(with_policy(tmp_path, "epochs = 5"))["shop"]
    assert ask(shop, 1, "assign", assignment(shop, method="fedhssl")) == "done"
    wide = down("plan", **{**PLAN, "hidden": [4096] * 32})
    assert "weights: weights = 67108864" in ask(shop, 2, "prepare", wide)
    assert "the policy refuses updates = 9: epochs = 5" in ask(shop, 3, "enrol", down("lesson", updates=9))


def test_a_row_can_be_named_often_but_not_without_end(tmp_path: Path) -> None:
    shop = ready(tmp_path / "sites", "", protect="", method="splitnn")
    rows = Message("rows", "bank", "shop", "train", {"rows": torch.zeros(101, dtype=torch.int32)})
    assert "100 aligned training rows" in ask(shop, 3, "forward", rows)
