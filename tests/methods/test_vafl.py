"""VAFL against a slow version, against SplitNN where both are one, its clocks, its staleness, its noise."""

from __future__ import annotations

import copy
from collections import Counter
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import colonnade as cn
from colonnade.methods.vafl import Server, clocks
from colonnade.parties.federation import Federation
from tests.conftest import make_data
from tests.methods import together
from tests.methods.small import small
from tests.methods.together import put_together

RATES = {"adam": 0.02, "plain-sgd": 0.2}
Activation = tuple[str, Tensor]


def make(parties: int, rows: int, outputs: int, seed: int, active: str = "p0") -> cn.VerticalData:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows) if outputs == 1 else rng.permutation(np.arange(rows) % outputs)
    views = {f"p{k}": rng.normal(size=(rows, 2 + k)).astype(np.float32) for k in range(parties)}
    return cn.VerticalData(views, y, active=active, task="regression" if outputs == 1 else None)


def assemble(data: cn.VerticalData, **options: Any) -> Federation:
    return put_together(cn.VAFL(**options), data)


def parties_of(fed: Federation) -> dict[str, Any]:
    return {party.name: party for party in together.parties_of(fed) if party.encoder is not None}


class Slow:
    """Row by row: what each client last said of each row is in a dictionary, each network has an optimizer."""

    def __init__(self, fed: Federation, optimizer: str, bound: int | None) -> None:
        parties = parties_of(fed)
        self.nets = {m: copy.deepcopy(p.encoder) for m, p in parties.items()}
        self.tables = {m: p.tables["train"].x.clone() for m, p in parties.items()}
        self.head, self.how, self.y = copy.deepcopy(fed.active.head), fed.active.join, fed.active.y["train"]
        made = {"adam": torch.optim.Adam, "plain-sgd": torch.optim.SGD}[optimizer]
        every: dict[str, nn.Module] = {**self.nets, "head": self.head}
        self.steps = {m: made(net.parameters(), lr=RATES[optimizer], weight_decay=0.01) for m, net in every.items()}
        self.said: dict[tuple[str, int], Tensor] = {}
        self.when: dict[tuple[str, int], int] = {}
        self.bound, self.now = bound, 0

    def say(self, m: str, row: int) -> None:
        self.said[m, row] = self.nets[m](self.tables[m][row][None])[0].detach()
        self.when[m, row] = self.now

    def look_up(self, m: str, row: int) -> Tensor:
        if self.bound is not None and self.now - self.when.get((m, row), -(10**9)) > self.bound:
            self.say(m, row)
        width = self.nets[m](self.tables[m][:1]).shape[1]
        return self.said.get((m, row), torch.zeros(width))

    def activate(self, m: str, rows: list[int]) -> None:
        self.now += 1
        losses = []
        for row in rows:
            h = {k: self.nets[k](self.tables[k][row][None])[0] if k == m else self.look_up(k, row) for k in self.nets}
            every = list(h.values())
            joint = torch.cat(every) if self.how == "concat" else torch.stack(every).mean(0)
            out = self.head(joint)
            losses.append((out[0] - self.y[row]) ** 2 if len(out) == 1 else F.cross_entropy(out, self.y[row]))
        for row in rows:
            self.say(m, row)
        for step in (self.steps[m], self.steps["head"]):
            step.zero_grad()
        torch.stack(losses).mean().backward()
        for step in (self.steps[m], self.steps["head"]):
            step.step()


def train(fed: Federation, activations: list[Activation], optimizer: str, bound: int | None) -> None:
    update = {"optimizer": optimizer, "learning_rate": RATES[optimizer], "weight_decay": 0.01}
    fed.active.begin(**update)
    fed.tell("begin", **update)
    server = Server(fed, bound)
    for m, at in activations:
        server.activate(m, at)


def assert_same(fed: Federation, slow: Slow) -> None:
    pairs = [(fed.active.head, slow.head), *((p.encoder, slow.nets[m]) for m, p in parties_of(fed).items())]
    for fast, other in pairs:
        for (name, a), b in zip(fast.named_parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(a.detach(), b.detach(), rtol=2e-3, atol=2e-4, msg=lambda m, n=name: f"{n}: {m}")


@settings(max_examples=12, deadline=None)
@given(
    parties=st.integers(2, 4),
    outputs=st.sampled_from([1, 3]),
    how=st.sampled_from(["concat", "mean"]),
    optimizer=st.sampled_from(list(RATES)),
    bound=st.sampled_from([None, 0, 1, 4]),
    own=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_the_same_updates_as_row_by_row(
    parties: int, outputs: int, how: str, optimizer: str, bound: int | None, own: bool, seed: int
) -> None:
    data = make(parties, 12, outputs, seed, active="p0" if own else "server")
    fed = assemble(data, hidden=(5,), width=3, join=how, seed=seed)
    slow = Slow(fed, optimizer, bound)
    draw = torch.Generator().manual_seed(seed)
    names = list(parties_of(fed))
    who = torch.randint(len(names), (16,), generator=draw).tolist()
    activations = [(names[k], torch.randperm(12, generator=draw)[:5]) for k in who]
    train(fed, activations, optimizer, bound)
    for m, at in activations:
        slow.activate(m, at.tolist())
    assert_same(fed, slow)


def test_with_one_client_it_is_splitnn() -> None:
    rng = np.random.default_rng(0)
    data = cn.VerticalData({"shop": rng.normal(size=(40, 4))}, rng.integers(0, 3, 40), active="server")
    options: dict[str, Any] = {"hidden": (6,), "width": 4, "epochs": 30, "batch_size": 40, "learning_rate": 0.01}
    vafl, split = cn.VAFL(**options).fit(data), cn.SplitNN(**options).fit(data)
    np.testing.assert_allclose(vafl.predict_proba(data.views), split.predict_proba(data.views), rtol=1e-3, atol=1e-4)
    assert [h["loss"] for h in vafl.history_] == pytest.approx([h["loss"] for h in split.history_], rel=1e-3)
    assert vafl.traffic_.to_json() == split.traffic_.to_json()


def test_who_sleeps_does_not_change_and_is_remembered() -> None:
    fed = assemble(make(3, 10, 2, 0), hidden=(4,), width=3)
    before = {m: copy.deepcopy(p.encoder.state_dict()) for m, p in parties_of(fed).items()}
    train(fed, [("p1", torch.arange(10))] * 3, "adam", None)
    moved = {
        m: any(not torch.equal(v, before[m][k]) for k, v in p.encoder.state_dict().items())
        for m, p in parties_of(fed).items()
    }
    assert moved == {"p0": False, "p1": True, "p2": False}


# clocks ---------------------------------------------------------------------------------------------------------------


def test_clocks_are_poisson_processes_of_their_rates() -> None:
    n, rates = 20_000, {"a": 1.0, "b": 2.0, "c": 5.0}
    woken = list(islice(clocks(rates, torch.Generator().manual_seed(0)), n))
    counts = Counter(woken)
    for name, rate in rates.items():  # within five standard deviations of a binomial share
        share = rate / 8
        assert abs(counts[name] - n * share) < 5 * (n * share * (1 - share)) ** 0.5
    pairs = Counter(pairwise(woken))  # no memory: who comes next does not depend on who came
    for (first, second), count in pairs.items():
        share = rates[first] * rates[second] / 64
        assert abs(count - n * share) < 6 * (n * share) ** 0.5


def test_speeds_decide_how_often_a_party_sends() -> None:
    data = make_data(3, rows=240, labelled=0.9)
    model = small("vafl", speeds={"p2": 0.2}, epochs=10, batch_size=8).fit(data)
    log = model.federation_.wire.audit_json()
    sent = {e["from"]: e["messages"] for e in log if e["kind"] == "representation"}
    assert 2 < sent["p1"] / sent["p2"] < 12


def test_an_epoch_is_as_many_activations_as_clients_have_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = together.observe(monkeypatch)
    data = make(3, 30, 2, 0, active="server")
    model = cn.VAFL(epochs=4, batch_size=8, hidden=(4,), width=3)
    model.fit(data)
    train_messages = Counter(m.kind for m in seen if m.phase == "train")
    assert train_messages["gradient"] == train_messages["representation"] == 4 * 3 * 4  # epochs, clients, batches
    rows = [m for m in seen if m.kind == "rows" and m.phase == "train"]
    assert len({tuple(m.tensors["rows"].tolist()) for m in rows}) > 40  # each client draws batches of its own
    assert model.traffic_.by_phase["train"]["rounds"] == 1 + 2 * 48


# staleness ------------------------------------------------------------------------------------------------------------


def test_a_bound_of_zero_reads_nothing_old_and_costs_more() -> None:
    data = make_data(3)
    free, tight = (small("vafl", max_staleness=bound, epochs=3).fit(data) for bound in (None, 0))
    views = data.only(data.aligned).views
    assert not np.allclose(free.predict_proba(views), tight.predict_proba(views), atol=1e-5)
    assert tight.traffic_.by_kind["representation"]["bytes"] > 1.5 * free.traffic_.by_kind["representation"]["bytes"]
    assert tight.traffic_.by_kind["gradient"] == free.traffic_.by_kind["gradient"]


def test_a_late_answer_changes_nothing() -> None:
    parts = cn.split(make_data(3))
    model = small("vafl", response_limit=1e-9, epochs=2).fit(parts.train, parts.valid)
    assert set(model.late_) == {"p1", "p2"} and "gradient" not in model.traffic_.by_kind


# noise ----------------------------------------------------------------------------------------------------------------


def test_noise_is_on_what_leaves_in_training_and_the_record_names_it() -> None:
    parts = cn.split(make_data(rows=200))
    loud = small("vafl", noise=0.7, epochs=4).fit(parts.train, parts.valid)
    quiet = small("vafl", epochs=4).fit(parts.train, parts.valid)
    (named,) = loud.protections_
    assert (named["name"], named["kind"], named["strength"]) == ("noise", "representation", 0.7)
    assert named["phases"] == ["train", "validate"] and quiet.protections_ == []
    assert loud.traffic_.by_phase["train"] == quiet.traffic_.by_phase["train"]
    views = parts.test.views
    assert np.array_equal(loud.predict_proba(views), loud.predict_proba(views))
    assert not np.allclose(loud.predict_proba(views), quiet.predict_proba(views), atol=1e-3)


# what it refuses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, text",
    [
        ({"noise": -1}, r"noise must be a number of at least 0\. Got -1"),
        ({"max_staleness": -1}, r"max_staleness must be a whole number of at least 0\. Got -1\. Use none for no bound"),
        ({"speeds": 3}, r"speeds must be a mapping of party names to numbers above 0\. Got 3"),
        ({"speeds": {"p1": 0}}, r"speeds must be a mapping of party names to numbers above 0\. Got \{'p1': 0\}"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(cn.ConfigError, match=text):
        cn.VAFL(**options)


def test_speeds_of_strangers_are_refused() -> None:
    with pytest.raises(cn.ConfigError, match=r"speeds names \['shop'\], but the parties with columns are \['p0', 'p1'"):
        small("vafl", speeds={"shop": 2}).fit(make_data())
