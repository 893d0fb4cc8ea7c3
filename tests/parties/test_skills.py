"""Skills: what they declare, what contradicts itself, and what a party refuses that its run did not declare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.errors import WireError
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.bounds import (
    COUNT,
    FLAG,
    SIZE,
    SIZES,
    TEXT,
    Bound,
    Weights,
    between,
    number,
    one_of,
    whole,
)
from colonnade.parties.skills.encoder import Encoding, Keeping
from colonnade.parties.skills.kinds import ORDER, REPRESENTATION
from colonnade.parties.skills.pretraining import Pretraining, PrivateAccount
from colonnade.parties.skills.skill import Reply, Skill, offer_of, operation
from colonnade.parties.skills.split import Split
from colonnade.parties.skills.together import Crossing, Enrolment, MaskedSharing, Sharing, Studying
from colonnade.wire.kind import Kind
from colonnade.wire.message import Message
from tests.conftest import make_data
from tests.declared import KINDS, OPERATIONS, SKILLS, skills_of
from tests.methods.small import small
from tests.methods.together import passive_of, put_together

PING = Kind("ping", "up", "for this test")


class Pinging(Skill):
    """Answers."""

    @operation(asks=ORDER, answers=PING, takes={"turn": COUNT}, says=("turn",))
    def ping(self, message: Message) -> Reply:
        """What was asked."""
        return Reply(values={"turn": message.values["turn"]})


def party_of(*skills: type[Skill]) -> PassiveParty:
    view = make_data().views["p1"]
    return PassiveParty("p1", view, view.ids[:50], skills=skills)


def ask(kind: str, tensors: dict[str, torch.Tensor] | None = None, **values: Any) -> Message:
    return Message(kind, "p0", "p1", "train", tensors or {}, values)


# what is declared -----------------------------------------------------------------------------------------------------


def test_an_offer_has_the_operations_and_the_kinds_with_all_their_values() -> None:
    offer = offer_of(Keeping, Pinging)
    assert set(offer.operations) == {"keep", "recall", "ping"} and set(offer.kinds) == {"order", "ping"}
    assert offer.kinds["order"].values == {"name", "turn"} and ORDER.values == frozenset()


def test_two_skills_that_offer_one_operation_are_refused() -> None:
    class Other(Skill):
        @operation(asks=ORDER)
        def ping(self, message: Message) -> None:
            """Another thing under the same name."""

    with pytest.raises(TypeError, match=r"Other and Pinging both offer 'ping'\. Rename one"):
        offer_of(Pinging, Other)
    with pytest.raises(TypeError, match="both offer 'ping'"):
        party_of(Pinging, Other)
    assert set(offer_of(Sharing, MaskedSharing).operations) >= {"adopt", "share"}  # what both inherit is one thing


def test_a_kind_that_is_declared_twice_and_differently_is_refused_when_the_class_is_made() -> None:
    first, second = Kind("thing", "down", "one"), Kind("thing", "down", "one", tensors={"x": ("float", 1)})
    with pytest.raises(TypeError, match="the kind 'thing' is declared twice, and differently"):

        class Two(Skill):
            @operation(asks=first)
            def one(self, message: Message) -> None:
                """By one declaration."""

            @operation(asks=second)
            def two(self, message: Message) -> None:
                """By another."""

    class Again(Skill):
        @operation(asks=Kind("order", "down", "something else"))
        def again(self, message: Message) -> None:
            """With a kind that has the name of ours."""

    with pytest.raises(TypeError, match="the kind 'order' is declared twice"):
        offer_of(Keeping, Again)


def test_the_digest_tells_declarations_apart_and_leaves_help_out() -> None:
    def pinging(takes: dict[str, Bound], meaning: str = "for this test", price: Any = "nothing") -> str:
        class Made(Skill):
            @operation(asks=ORDER, answers=Kind("ping", "up", meaning), takes=takes, price=price)
            def ping(self, message: Message) -> Reply:
                """Nothing."""
                return Reply()

        return offer_of(Made).digest

    plain = pinging({"turn": COUNT})
    assert len(plain) == 8 and plain == pinging({"turn": COUNT}, "in other words")
    others = [{"turn": whole(1)}, {"turn": TEXT}, {"turn": SIZE}, {"turns": COUNT}, {}]
    digests = {plain, pinging({"turn": COUNT}, price="lesson"), *map(pinging, others)}
    assert len(digests) == 2 + len(others)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_and_kind_of_the_methods_is_sound(name: str) -> None:
    made = OPERATIONS[name]
    assert made.asks.direction == "down" and made.asks.meaning
    assert made.answers is None or made.answers.direction == "up"
    assert not made.says or made.answers is not None
    assert "label" not in {*made.takes, *made.says}
    assert all(bound.must and not bound.fits({"a": 1}) for bound in made.takes.values())  # type: ignore[arg-type]
    assert made.may_be_late <= (made.answers is not None)
    kind = KINDS[made.asks.name]
    assert kind.values >= set(made.takes)


def test_no_method_needs_another_methods_skills() -> None:
    """Least privilege: what a method may be asked does not grow with other methods."""
    assert set(skills_of(cn.SplitNN)) == {Encoding, Split, Keeping}
    assert set(small("fedhssl").setup().skills).isdisjoint({MaskedSharing, Pretraining})
    assert Sharing not in small("fedhssl", secure_aggregation=True).setup().skills
    assert Crossing not in small("fed-local-ssl", aggregate=True).setup().skills
    assert len(SKILLS) > 10


# what a party refuses -------------------------------------------------------------------------------------------------


def test_an_operation_of_another_run_is_refused_before_a_value_is_looked_at() -> None:
    party = party_of(Encoding, Split, Keeping)
    for name in OPERATIONS.keys() - party.offer.operations.keys():
        with pytest.raises(WireError, match=f"'{name}' is no operation of this run. Its operations: prepare, "):
            party.perform(name, ask("anything", nonsense=object()))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (ask("rows"), "party 'p1' refuses 'ping' with a 'rows'. It takes a 'order'"),
        (ask("order", turn=1, name="best"), "refuses 'ping' with the value 'name'. It takes: turn"),
        (ask("order", turn=-1), "turn must be a whole number of at least 0. Got -1"),
        (ask("order", turn=True), "turn must be a whole number of at least 0. Got True"),
        (ask("order", turn=1.0), "turn must be a whole number of at least 0. Got 1.0"),
        (ask("order", turn=[1]), r"turn must be a whole number of at least 0. Got \[1\]"),
    ],
)
def test_values_outside_an_operations_declaration_are_refused(message: Message, text: str) -> None:
    party = party_of(Pinging, Keeping)
    assert party.perform("ping", ask("order", turn=3)).values == {"turn": 3}  # type: ignore[union-attr]
    with pytest.raises(WireError, match=text):
        party.perform("ping", message)


@pytest.mark.parametrize(
    ("bound", "good", "bad"),
    [
        (whole(2), [2, 9], [1, True, 2.0, "2", None, [2], float("nan")]),
        (between(2, 4), [2, 4], [1, 5, True, 3.0]),
        (number(0), [0, 0.5, 3], [-1e-9, float("inf"), float("nan"), True, "1", None]),
        (number(), [-3, 0.1], [float("-inf"), float("nan")]),
        (one_of("a", "b"), ["a"], ["c", "", 1, None, ["a"]]),
        (TEXT, ["", "x"], [1, None]),
        (FLAG, [True, False], [0, 1, "true", None]),
        (SIZES, [[], [1, 0]], [[-1], [1.0], [True], 3, "1", (1,)]),
    ],
)
def test_bounds(bound: Bound, good: list[Any], bad: list[Any]) -> None:
    assert all(bound.fits(value) for value in good)
    assert not [value for value in bad if bound.fits(value)]


def test_a_bound_counts_numbers_and_a_rule_counts_weights() -> None:
    assert SIZES.numbers([3, 4]) == [3, 4] and SIZE.numbers(7) == [7] and TEXT.numbers("x") == []
    rule = Weights("hidden", "width")
    assert rule.total({"hidden": [10, 20], "width": 5}) == 10 * 20 + 20 * 5 and rule.total({"hidden": [1]}) is None


# out of turn: sentences, where an assert stood ------------------------------------------------------------------------

ROWS = {"rows": torch.arange(3, dtype=torch.int32)}
LESSON: dict[str, Any] = {
    "objective": "simsiam", "epochs": 1, "batch_size": 8, "learning_rate": 0.1, "weight_decay": 0.0,
    "optimizer": "sgd", "seed": 0,
}  # fmt: skip
TOWERS: dict[str, Any] = {**LESSON, "updates": 1, "staleness": 0, "shared": ""}
PREPARE = (
    "prepare", ask("plan", hidden=[4], width=3, embedding=2, image="cnn0", seed=0, precision="float32", tower="cross")
)  # fmt: skip
BEGIN = ask("order", optimizer="sgd", learning_rate=0.1, weight_decay=0.0)
OUT_OF_TURN: list[tuple[list[tuple[str, Message]], str]] = [
    ([("represent", ask("rows", ROWS))], "has no table 'train'. Its tables: none, as it was not prepared"),
    ([PREPARE, ("represent", ask("rows", table="valid"))], "has no table 'valid'. Its tables: train"),
    ([("forward", ask("rows", ROWS))], "has no table 'train'"),
    ([("begin", BEGIN)], "asked to use its encoder before it was prepared"),
    ([PREPARE, ("backward", ask("gradient", {"gradient": torch.ones(3, 3)}))], "before it was asked for a represent"),
    ([("pretrain", ask("lesson", **LESSON))], "asked to use its encoder before it was prepared"),
    ([("plan_private", ask("lesson", **LESSON))], "has no table 'train'"),
    ([("tell_account", ask("order"))], "asked for an account of private learning, and did none"),
    ([("enrol", ask("lesson", **TOWERS, towers="both"))], "has no table 'train'"),
    ([PREPARE, ("study", ask("order", gamma=0.5))], "asked to pre-train with others before it was enrolled"),
    (
        [PREPARE, ("enrol", ask("lesson", **TOWERS, towers="cross")), ("study", ask("order", gamma=0.5))],
        "enrolled to learn with others alone, and asked for what it learns by itself",
    ),
    (
        [PREPARE, ("enrol", ask("lesson", **{**TOWERS, "shared": "top"}, towers="cross"))],
        "enrolled to learn with others alone",
    ),
    (
        [PREPARE, ("enrol", ask("lesson", **TOWERS, towers="local")), ("cross_again", ask("order"))],
        "enrolled to learn alone, and asked to agree with others",
    ),
    ([("share_masked", ask("keys", turn=0))], "asked for a masked part before it was asked for a key"),
]


@pytest.mark.parametrize(("steps", "text"), OUT_OF_TURN)
def test_what_is_asked_out_of_turn_is_refused_with_a_sentence(steps: list[tuple[str, Message]], text: str) -> None:
    party = party_of(
        Encoding, Split, Pretraining, PrivateAccount, Enrolment, Studying, Crossing, Sharing, MaskedSharing
    )
    *before, (name, last) = steps
    for done, message in before:
        party.perform(done, message)
    with pytest.raises(WireError, match=text):
        party.perform(name, last)


def test_a_skill_that_needs_another_says_which_is_missing() -> None:
    with pytest.raises(WireError, match=r"party 'p1' does not have Enrolment in this run. Its skills: Studying"):
        party_of(Studying).perform("study", ask("order", gamma=0.0))


def test_columns_are_binned_once() -> None:
    pytest.importorskip("tno.mpc.encryption_schemes.paillier", reason="needs colonnade[secureboost]")
    from colonnade.methods.secureboost.skills import Columns

    party, message = party_of(Columns), ask("binning", bins=8, rows=10, outputs=1)
    party.perform("bin", message)
    with pytest.raises(WireError, match="party 'p1' was asked to bin its columns a second time"):
        party.perform("bin", message)


def test_a_run_offers_what_its_options_need() -> None:
    """The same party, the same method, other options: other operations."""
    data = make_data()
    offers = {
        name: set(passive_of(put_together(small(method, **options), data, ready=False))["p1"].offer.operations)
        for name, method, options in (
            ("open", "fedhssl", {}), ("masked", "fedhssl", {"secure_aggregation": True}),
            ("apart", "fedhssl", {"aggregate": False}), ("split", "splitnn", {}),
        )
    }  # fmt: skip
    assert offers["split"] == {"prepare", "represent", "begin", "forward", "backward", "keep", "recall"}
    assert "share" in offers["open"] and "share" not in offers["masked"] and "share_masked" in offers["masked"]
    assert offers["apart"].isdisjoint({"share", "adopt"})


def test_representations_of_a_party_do_not_change_what_it_holds() -> None:
    party = party_of(Encoding)
    party.perform(*PREPARE)
    before = party.table("train").x.clone()
    reply = party.perform("represent", ask("rows", ROWS))
    assert reply is not None and reply.tensors["representation"].shape == (3, 3)
    assert torch.equal(before, party.table("train").x) and REPRESENTATION.row_by_row
    assert np.isfinite(reply.tensors["representation"].numpy()).all()
