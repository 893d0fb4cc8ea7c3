"""Protections in methods: what each sends, what is changed and what is not, and what is counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire
from tests.conftest import make_data
from tests.declared import KINDS
from tests.methods.small import small
from tests.methods.together import observe, put_together

FEDERATED = [name for name, method in cn.METHODS.items() if hasattr(method, "protect")]
AVERAGED = [name for name in FEDERATED if hasattr(cn.METHODS[name], "aggregate")]


def tiny(name: str, **options: Any) -> Any:
    """Two epochs of each sort."""
    short = {"epochs": 2, "patience": 2}
    if "batch_size" in cn.METHODS[name]().get_params():
        short["batch_size"] = 24
    if hasattr(cn.METHODS[name], "pretrain_epochs"):
        short |= {"pretrain_epochs": 2, "pretrain_batch_size": 32}
    return small(name, **{**short, **options})


def watch(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Message, Message]]:
    """Every message as it was given to the wire, and as it came out."""
    seen: list[tuple[Message, Message]] = []
    carry = Wire.carry

    def watched(self: Wire, message: Message) -> Message:
        given = {name: tensor.clone() for name, tensor in message.tensors.items()}
        received = carry(self, message)
        seen.append((Message(message.kind, message.sender, message.receiver, message.phase, given), received))
        return received

    observe(monkeypatch)  # messages that nobody looks at go in groups
    monkeypatch.setattr(Wire, "carry", watched)
    return seen


def same(pair: tuple[Message, Message]) -> bool:
    given, received = pair
    return all(torch.equal(tensor, received.tensors[name]) for name, tensor in given.tensors.items())


# what each method sends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, options",
    [(name, {}) for name in FEDERATED]
    + [(name, {"aggregate": not cn.METHODS[name].aggregate}) for name in AVERAGED]
    + [(name, {"aggregate": True, "secure_aggregation": True}) for name in AVERAGED],
)
@pytest.mark.filterwarnings("ignore:secure_aggregation")
def test_a_method_sends_what_it_says_it_sends_and_all_of_it_can_be_protected(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = cn.split(make_data(rows=60), seed=1)
    said = tiny(name, **options).setup().sends
    seen = watch(monkeypatch)
    model = tiny(name, **options, protect=tuple(f"iso:{kind}:1" for kind in said)).fit(parts.train, parts.valid)
    model.predict(parts.test.views)
    crossed: dict[str, set[str]] = {}
    for given, received in seen:
        if KINDS[given.kind].holds_floats:
            crossed.setdefault(given.kind, set()).add(given.phase.split()[0])
            assert not torch.equal(received.tensors[given.kind], given.tensors[given.kind])
        else:
            assert same((given, received))
    assert crossed == {kind: set(phases) for kind, phases in said.items()}
    assert [p["kind"] for p in model.protections_][: len(said)] == list(said)


@pytest.mark.parametrize("kind", ["parameters", "target"])
def test_only_the_named_kind_is_changed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch)
    tiny("fedhssl", protect=f"iso:{kind}:1").fit(make_data(3))
    changed = {given.kind for given, received in seen if not same((given, received))}
    assert changed == {kind} and {"average", "gradient", "projection"} < {given.kind for given, _ in seen}


def first_average(seen: list[tuple[Message, Message]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The first average, and the parameters before it, as they left (K, L + 1) and as they arrived."""
    at = next(i for i, (given, _) in enumerate(seen) if given.kind == "average")
    pairs = [pair for pair in seen[:at] if pair[0].kind == "parameters"]
    left, arrived = (torch.stack([m.tensors["parameters"] for m in side]) for side in zip(*pairs, strict=True))
    return seen[at][0].tensors["average"].double(), left.double(), arrived.double()


def test_the_average_is_that_of_the_noisy_parameters_and_the_active_partys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch)
    parts = []
    for protect in ((), "iso:parameters:1"):
        tiny("fedhssl", protect=protect).fit(make_data(3))
        parts.append(first_average(seen))
        seen.clear()
    (average, left, arrived), (noisy, left_again, arrived_noisy) = parts
    assert torch.equal(left, left_again) and torch.equal(left, arrived) and not torch.equal(left, arrived_noisy)
    rows = 135 * 3  # all parties have 135
    assert (arrived_noisy[:, -1] == 135).all()
    apart = (arrived_noisy - left).sum(dim=0)[:-1]  # the noise of both passive parties
    torch.testing.assert_close((noisy - average) * rows, apart, rtol=1e-4, atol=1e-3)


def test_noise_on_gradients_leaves_the_active_party_as_it_is() -> None:
    """One step: head and own encoder are those of the run without noise; the passive encoder is not."""
    data = make_data()
    plain, noisy = (tiny("splitnn", epochs=1, batch_size=999, protect=p).fit(data) for p in ((), "iso:gradient:5"))
    engines = [model.federation_.engine.parties["p1"] for model in (plain, noisy)]
    own = [model.federation_.active.state() for model in (plain, noisy)]
    assert all(torch.equal(own[0][k], own[1][k]) for k in own[0])
    assert not all(torch.equal(a, b) for a, b in zip(*(e.state().values() for e in engines), strict=True))


def test_two_senders_one_seed_and_another() -> None:
    data = make_data(3)
    views = data.only(data.aligned).views
    options = {"protect": "noise:representation:1@train", "epochs": 2}
    first, again, other = (tiny("splitnn", seed=s, **options).fit(data).predict_proba(views) for s in (1, 1, 2))
    assert np.array_equal(first, again) and not np.allclose(first, other, atol=1e-3)


def test_a_phase_can_be_named_and_further_attempts_belong_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = cn.split(make_data(), labels=0.5)
    seen = watch(monkeypatch)
    model = tiny("hybrid", protect="noise:representation:1@train").fit(parts.train, parts.valid)
    first, again = (model.predict_proba(parts.test.views) for _ in range(2))
    assert np.array_equal(first, again)
    phases = Counter((given.phase, same((given, got))) for given, got in seen if given.kind == "representation")
    assert phases["train 2", False] and phases["train", False] and phases["validate", True]
    assert phases["predict", True] == 2 and not phases["train 2", True]


def test_a_loaded_model_does_not_repeat_the_noise_of_training(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_data()
    model = tiny("splitnn", protect=("noise:representation:1",)).fit(data)
    again = cn.load(model.save(tmp_path / "model"))
    assert again.get_params() == model.get_params()
    fresh = put_together(tiny("splitnn", protect="noise:representation:1"), data, ready=False)
    wires = [again.federation_.wire, fresh.wire]
    message = Message("representation", "p1", "p0", "predict", {"representation": torch.zeros(50, 12)})
    loaded, first = (wire.carry(message).tensors["representation"] for wire in wires)
    assert abs(np.corrcoef(loaded.flatten(), first.flatten())[0, 1]) < 5 / np.sqrt(600)


# what is counted ------------------------------------------------------------------------------------------------------


def releases(model: Any) -> dict[tuple[str, str], int]:
    (protection,) = model.federation_.wire.protections
    return {(party, phase): count for party, phase, _, count in protection.spent()}


@pytest.mark.parametrize("name", ["splitnn", "ssvfl"])
def test_releases_are_those_of_the_row_that_left_most_often(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = cn.split(make_data(3), labels=0.4)
    seen = watch(monkeypatch)
    options = {"epochs": 3, "patience": 3, "batch_size": 8, "protect": "gaussian:representation:1:2"}
    model = tiny(name, **options).fit(parts.train, parts.valid)
    slow: dict[str, Counter[int]] = {"p1": Counter(), "p2": Counter()}
    for given, _ in seen:
        if given.kind == "rows" and given.phase == "train":
            slow[given.receiver].update(given.tensors["rows"].tolist())
    most = {party: max(counts.values()) for party, counts in slow.items()}
    assert most["p1"] == 3 if name == "splitnn" else most["p1"] > 3  # ssvfl repeats labelled rows
    expected = {(party, "train"): count for party, count in most.items()}
    assert releases(model) == {**expected, ("p1", "validate"): 3, ("p2", "validate"): 3}


def test_releases_of_gradients_one_shot_representations_and_averages() -> None:
    parts = cn.split(make_data(3))
    split = tiny("splitnn", protect="gaussian:gradient:1:2").fit(parts.train, parts.valid)
    assert releases(split) == {("p0", "train"): 2 * 2}  # two epochs, two receivers
    once = tiny("fedonce", protect="gaussian:representation:1:2").fit(parts.train, parts.valid)
    assert releases(once) == {("p1", "train"): 1, ("p2", "train"): 1}
    once.predict(parts.test.views)
    assert releases(once)["p1", "predict"] == 1
    shared = tiny("fedhssl", protect="gaussian:average:1:2").fit(parts.train)
    assert releases(shared) == {("p0", "aggregate"): 2 * 2}
