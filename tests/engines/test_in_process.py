"""The engine of one process: skills that nobody stacked, parties that answer as one or alone, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.errors import WireError
from colonnade.methods._base.method import Method
from colonnade.methods._base.options.groups import Crossing, Networks
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.setup import SPLIT, SPLIT_SKILLS, Setup
from colonnade.methods.splitnn import split_training
from colonnade.parties.federation import Federation
from colonnade.parties.skills.bounds import whole
from colonnade.parties.skills.encoder import Encoding
from colonnade.parties.skills.kinds import ORDER, REPRESENTATION
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message
from tests.methods.small import small
from tests.methods.together import engine_of, observe, passive_of, put_together

SCALED = Kind("scaled", "up", "for this test", tensors={"scaled": ("float", 2)})
TIMES = {"by": whole(1)}


class Scaling(Skill):
    """Nobody stacked it, and it does not say that it stands beside a stack."""

    @operation(asks=ORDER, answers=SCALED, takes=TIMES)
    def scale(self, message: Message) -> Reply:
        """Representations of all rows, times a number."""
        by: Any = message.values["by"]
        return Reply({"scaled": by * self.party.encode_table("train")})

    @operation(asks=ORDER, answers=SCALED)
    def say_more(self, message: Message) -> Reply:
        """A tensor that its kind does not have."""
        return Reply({"scaled": torch.ones(2, 2), "column": self.party.table("train").x[:, :1]})

    @operation(asks=ORDER, answers=SCALED)
    def with_graph(self, message: Message) -> Reply:
        """Representations that carry an autograd graph."""
        return Reply({"scaled": self.party.encode(self.party.table("train").all(), train=True)})

    @operation(asks=ORDER, answers=SCALED)
    def say_nothing(self, message: Message) -> None:
        """No answer, where one is declared."""

    @operation(asks=ORDER)
    def talk_back(self, message: Message) -> Reply:
        """An answer, where none is declared."""
        return Reply({"scaled": torch.ones(2, 2)})


class ScalingBeside(Scaling):
    """The same, on weights that are slices of a stack's."""

    beside_stack = True


@dataclass(kw_only=True, eq=False, repr=False)
class Scaled(Crossing, Networks, Method):
    """A method with a skill of its own."""

    name = "scaled"
    extra_skill: ClassVar[type[Skill]] = Scaling

    def setup(self) -> Setup:
        return Setup(skills=(*SPLIT_SKILLS, self.extra_skill), sends=SPLIT)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        fed.ask("scale", by=2)
        split_training(fed, monitor, Training.of(self))


class ScaledBeside(Scaled):
    name = "scaled-beside"
    extra_skill: ClassVar[type[Skill]] = ScalingBeside


def equal_parties(parties: int = 8, rows: int = 40) -> cn.VerticalData:
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, rows)
    return cn.VerticalData({f"p{k}": draw.normal(size=(rows, 4)) + y[:, None] for k in range(parties)}, y)


def tiny(method: type[Method] = Scaled, **options: Any) -> Any:
    return method(**{"hidden": (6,), "width": 3, "epochs": 2, "batch_size": 16, **options})


@pytest.mark.parametrize("method", [Scaled, ScaledBeside])
@pytest.mark.parametrize("watched", [False, True])
def test_seven_equal_parties_carry_out_what_nobody_stacked_one_by_one(
    method: type[Method], watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = observe(monkeypatch) if watched else []
    fed = put_together(tiny(method), equal_parties())
    stacked = [7] if method is ScaledBeside else []
    assert len(fed.passive) == 7 and [len(stack.names) for stack in engine_of(fed).stacks] == stacked
    before, scaled = fed.ask("represent"), fed.ask("scale", by=3)
    assert list(scaled) == list(fed.passive)
    for name in fed.passive:
        torch.testing.assert_close(scaled[name], 3 * before[name])
    assert bool([m for m in seen if m.kind == "scaled"]) == watched
    model = tiny(method).fit(equal_parties())
    assert model.traffic_.by_kind["scaled"]["messages"] == 7


def test_a_stack_that_trains_takes_all_of_its_parties_or_none() -> None:
    fed = put_together(tiny(ScaledBeside), equal_parties())
    fed.tell("begin", optimizer="sgd", learning_rate=0.1, weight_decay=0.0)
    rows = torch.arange(5, dtype=torch.int32)
    with pytest.raises(WireError, match="'forward' was asked of p1, and these parties answer as one with others: p1, "):
        fed.ask("forward", rows={"p1": rows})
    with pytest.raises(WireError, match="received gradients before they were asked for representations"):
        fed.tell("backward", gradient=torch.ones(5, 3))
    fed.ask("forward", rows=rows)
    with pytest.raises(WireError, match=r"sent representations of shape \(5, 3\) and received .* of shape \(4, 3\)"):
        fed.tell("backward", gradient=torch.ones(4, 3))
    uneven = {name: torch.ones(4 + (name == "p2"), 3) for name in fed.passive}
    with pytest.raises(WireError, match=r"received gradients of shape \(4, 3\) and \(5, 3\)"):
        fed.tell("backward", gradient=uneven)
    fed.tell("backward", gradient=torch.ones(5, 3))  # one for all


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("say_more", "scaled from 'p1' to 'p0' carries the undeclared tensor 'column'. Declared: scaled"),
        ("with_graph", "scaled from 'p1' to 'p0': 'scaled' carries an autograd graph"),
        ("say_nothing", "party 'p1' gave no answer to 'say_nothing', which has one"),
        ("talk_back", "party 'p1' gave an answer to 'talk_back', which declares none"),
    ],
)
def test_answers_that_are_not_declared_are_refused(
    name: str, text: str, watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if watched:
        observe(monkeypatch)
    fed = put_together(tiny(), equal_parties(3))
    before = fed.wire.traffic.by_kind
    with pytest.raises(WireError, match=text):
        fed.ask(name)
    assert "scaled" not in fed.wire.traffic.by_kind and before["plan"] == fed.wire.traffic.by_kind["plan"]


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("scale", {"by": 0}, "party 'p1' refuses 'scale': by must be a whole number of at least 1. Got 0"),
        ("scale", {"by": 1, "learning_rate": 0.1}, "refuses 'scale' with the value 'learning_rate'. It takes: by"),
        ("begin", {"name": "best"}, "refuses 'begin' with the value 'name'. It takes: optimizer, "),
        ("represent", {"table": 3}, "table must be a short text. Got 3"),
        ("fit_linear", {"beta": 1.0}, "'fit_linear' is no operation of this run. Its operations: prepare, "),
    ],
)
def test_what_a_run_does_not_declare_is_refused_in_one_process(name: str, values: dict[str, Any], text: str) -> None:
    """`order` carries these values for other operations of the run, not for this one."""
    fed = put_together(tiny(), equal_parties(3))
    bytes_ = fed.wire.traffic.bytes
    with pytest.raises(WireError, match=text):
        fed.ask(name, **values)
    assert fed.wire.traffic.bytes == bytes_


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("name", ["splitnn", "ss-vfl-i", "fedonce", "ssvfl", "fed-local-ssl"])
def test_parties_that_answer_as_one_give_what_each_gives_alone(
    name: str, equal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = equal_parties(4)
    if not equal:
        data = cn.VerticalData.of(
            {n: v if n != "p2" else replace(v, x=v.x[:, :2], columns=v.columns[:2]) for n, v in data.views.items()},
            data.labels, data.active, data.task,
        )  # fmt: skip
    options = {k: v for k, v in (("pretrain_epochs", 2), ("pretrain_batch_size", 16)) if hasattr(cn.METHODS[name], k)}
    method = {"epochs": 3, "batch_size": 16, **options}
    together = small(name, **method).fit(data)
    stacks = [stack.names for stack in engine_of(together.federation_).stacks]
    assert stacks == ([("p1", "p2", "p3")] if equal else [("p1", "p3")])
    monkeypatch.setattr("colonnade.engines.in_process.engine.stack_parties", lambda parties: [])
    alone = small(name, **method).fit(data)
    assert engine_of(alone.federation_).stacks == []
    np.testing.assert_allclose(together.predict_proba(data), alone.predict_proba(data), rtol=1e-3, atol=1e-4)
    assert together.traffic_.to_json() == alone.traffic_.to_json()


# a method without skills ----------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class Lonely(Networks, Method):
    """Nobody else takes part."""

    name = "lonely"

    def run(self, fed: Federation, monitor: Monitor) -> None:
        assert fed.ask("represent") == {} and fed.ask_values("prepare") == {}
        fed.tell("keep")
        split_training(fed, monitor, Training.of(self))


def test_a_method_without_skills_trains_alone_and_sends_nothing() -> None:
    data = equal_parties(3)
    made = Lonely(hidden=(6,), width=3, epochs=20, learning_rate=0.05)
    assert made.setup().offer.operations == {} and made.setup().offer.kinds == {}
    model = made.fit(data)
    assert model.federation_.passive == () and model.traffic_.messages == 0 and model.traffic_.rounds == 0
    assert model.score(data.views, data.labels) > 0.8
    with pytest.raises(WireError, match="'represent' is no operation of this run"):
        engine_of(model.federation_).offer.operation("represent")


def test_a_method_that_asks_beyond_its_skills_is_refused() -> None:
    class OnlyEncoding(Scaled):
        def setup(self) -> Setup:
            return Setup(skills=(Encoding,), sends={"representation": ("predict",)})

    with pytest.raises(WireError, match=r"'scale' is no operation of this run\. Its operations: prepare, represent"):
        OnlyEncoding(epochs=1).fit(equal_parties(2))


def test_everybody_late_is_a_round_without_messages() -> None:
    model = small("splitnn", late=["p1", "p2"], epochs=1, batch_size=99).fit(equal_parties(3))
    assert "gradient" not in model.traffic_.by_kind and model.traffic_.by_phase["train"]["rounds"] == 3
    assert REPRESENTATION.name not in model.traffic_.by_kind and passive_of(model.federation_).keys() == {"p1", "p2"}
