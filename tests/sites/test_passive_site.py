"""What a site refuses, without FLARE: the site's `answer` is called with bytes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.errors import WireError
from colonnade.parties.party import Party
from colonnade.sites.skills.privileges import told
from colonnade.sites.training.passive_site import PassiveSite
from colonnade.wire.codec import encode
from colonnade.wire.envelope import Request, open_reply, run_of, seal_request
from colonnade.wire.message import Message
from tests.sites.small import METHODS, RUN, active_site, in_process, passive_sites, write_sites

PLAN: dict[str, Any] = {"hidden": [8], "width": 4, "embedding": 4, "image": "cnn0", "seed": 0, "precision": "float32"}


@pytest.fixture
def shop(tmp_path: Path) -> PassiveSite:
    return passive_sites(write_sites(tmp_path))["shop"]


def ask(site: PassiveSite, number: int, operation: str, message: Message, run: bytes = RUN) -> str:
    """How a request ended, with the reason of a refusal."""
    reply = open_reply(site.answer(seal_request(Request(run, number, operation, encode(message)))))
    return f"{reply.ended}: {reply.reason}" if reply.ended == "refused" else reply.ended


def assignment(site: PassiveSite, **values: Any) -> Message:
    rows = {"train": torch.arange(100, dtype=torch.int32), "valid": torch.arange(100, 120, dtype=torch.int32)}
    method = str(values.get("method", "splitnn"))
    skills = told(method, cn.METHODS[method]().setup()) if method in cn.METHODS else {}
    given = {"digest": site.table.digest(RUN), "method": method, "codec": "float32", **skills, **values}
    return Message("assignment", "bank", "shop", "assign", rows, given)


def down(kind: str, tensors: dict[str, Any] | None = None, **values: Any) -> Message:
    return Message(kind, "bank", "shop", "train", tensors or {}, values)


def ready(site: PassiveSite) -> PassiveSite:
    assert ask(site, 1, "assign", assignment(site)) == "done"
    assert ask(site, 2, "prepare", down("plan", **PLAN)) == "answered"
    return site


@pytest.mark.parametrize("method", METHODS)
def test_training_by_frames_is_training_in_one_process(method: str, tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    passive = passive_sites(files)
    record = active_site(files, passive).train(method, dict(METHODS[method]))
    alone: Any = in_process(method, **METHODS[method])
    assert record["traffic"] == alone.traffic_.to_json()
    for name, site in passive.items():
        assert site.party is not None and site.ended
        there = alone.federation_.engine.parties[name].state()
        assert all(torch.equal(value, there[key]) for key, value in site.party.state().items())


@pytest.mark.parametrize("codec", ["float16", "int8"])
def test_a_codec_is_the_same_between_sites(codec: str, tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    options = {**METHODS["splitnn"], "codec": codec, "epochs": 1}
    record = active_site(files, passive_sites(files)).train("splitnn", dict(options))
    assert record["traffic"] == in_process("splitnn", **options).traffic_.to_json()


def test_a_site_adds_the_noise_that_was_asked_from_a_seed_of_its_own(tmp_path: Path) -> None:
    files = write_sites(tmp_path)
    passive = passive_sites(files)
    options = {**METHODS["splitnn"], "protect": ("iso:representation:0.1", "iso:gradient:0.1"), "epochs": 1}
    active_site(files, passive).train("splitnn", dict(options))
    (noise,) = passive["shop"].wire.protections
    assert noise.describe()["kind"] == "representation"
    assert getattr(noise, "seed") != 0  # noqa: B009


def test_the_training_rows_of_a_site_are_the_assigned_and_its_own(shop: PassiveSite) -> None:
    ready(shop)
    assert shop.party is not None
    assert len(shop.party.tables["train"]) == 100 + 12
    assert len(shop.party.tables["valid"]) == 20


def test_requests_of_the_past_are_refused(shop: PassiveSite) -> None:
    ready(shop)
    rows = down("rows", {"rows": torch.arange(5)})
    assert ask(shop, 3, "forward", rows) == "answered"
    assert "request 3 came after request 3" in ask(shop, 3, "forward", rows)
    assert "request 2 came after request 3" in ask(shop, 2, "forward", rows)
    assert "another run" in ask(shop, 4, "forward", rows, run=run_of("yesterday"))
    assert ask(shop, 9, "forward", rows) == "answered"


def test_messages_of_or_to_others_are_refused(shop: PassiveSite) -> None:
    ready(shop)
    for sender, receiver in (("bank", "telco"), ("telco", "shop"), ("shop", "bank")):
        message = Message("rows", sender, receiver, "train", {"rows": torch.arange(5)})
        assert "goes between others" in ask(shop, 3, "forward", message)


def test_kinds_that_may_not_come_are_refused(shop: PassiveSite) -> None:
    ready(shop)
    up = Message("representation", "bank", "shop", "train", {"representation": torch.zeros(2, 4)})
    assert "may only go up" in ask(shop, 3, "forward", up)
    frame = encode(down("rows")).replace(b'"rows"', b'"cols"')
    reply = open_reply(shop.answer(seal_request(Request(RUN, 3, "forward", frame))))
    assert "undeclared kind" in reply.reason
    assert "'perform' is no operation of this run" in ask(shop, 4, "perform", down("rows"))
    assert "refuses 'begin' with a 'rows'" in ask(shop, 5, "begin", down("rows"))


def test_tensors_that_are_not_declared_are_refused_before_they_are_made(shop: PassiveSite) -> None:
    ready(shop)
    cases = [
        {"columns": torch.arange(5)},
        {"rows": torch.zeros(5)},
        {"rows": torch.zeros(5, 2, dtype=torch.int64)},
        {"rows": torch.arange(5), "rows.scale": torch.zeros(5)},
    ]
    for tensors in cases:
        assert "not declared" in ask(shop, 3, "forward", down("rows", tensors)), tensors


def test_scales_that_would_be_spread_over_a_larger_tensor_are_refused(shop: PassiveSite) -> None:
    assert ask(shop, 1, "assign", assignment(shop, codec="int8")) == "done"
    huge = {"gradient": torch.zeros(1000, 1, dtype=torch.int8), "gradient.scale": torch.zeros(1, 1000)}
    assert "do not fit its rows" in ask(shop, 2, "backward", down("gradient", huge))


def test_rows_outside_the_aligned_training_rows_are_refused(shop: PassiveSite) -> None:
    ready(shop)
    for position in (-1, 100, 10**9):
        assert "aligned training rows" in ask(
            shop, 3 + abs(position), "forward", down("rows", {"rows": torch.tensor([position])})
        )


def test_an_assignment_that_does_not_fit_is_refused(shop: PassiveSite) -> None:
    assert "other agreed ids" in ask(shop, 1, "assign", assignment(shop, digest="0" * 32))
    twice = assignment(shop)
    twice.tensors["valid"] = torch.arange(20, dtype=torch.int32)
    assert "names a row twice" in ask(shop, 2, "assign", twice)
    outside = assignment(shop)
    outside.tensors["valid"] = torch.tensor([150], dtype=torch.int32)
    assert "150 agreed ids" in ask(shop, 3, "assign", outside)
    assert ask(shop, 4, "assign", assignment(shop)) == "done"
    assert "assigned once" in ask(shop, 5, "assign", assignment(shop))


def test_work_before_an_assignment_and_after_the_end_is_refused(shop: PassiveSite) -> None:
    assert "before rows were assigned" in ask(shop, 1, "prepare", down("plan", **PLAN))
    assert ask(shop, 2, "assign", assignment(shop)) == "done"
    assert ask(shop, 3, "finish", down("order")) == "done"
    assert "the run has ended" in ask(shop, 4, "prepare", down("plan", **PLAN))


def test_what_is_too_large_is_refused_by_its_size_alone(tmp_path: Path) -> None:
    shop = passive_sites(write_sites(tmp_path, {"shop": "bytes = 1000"}))["shop"]
    for data in (b"x" * 2000, seal_request(Request(RUN, 1, "assign", bytes(1100)))):
        assert "At most 1000 are taken" in open_reply(shop.answer(data)).reason


@pytest.mark.parametrize(
    ("policy", "refusal"),
    [
        ('methods = ["fedonce"]', "the policy refuses 'splitnn': methods = ['fedonce']"),
        ("rows = 119", "the policy refuses 120 rows: rows = 119"),
    ],
)
def test_an_assignment_against_the_policy_is_refused(policy: str, refusal: str, tmp_path: Path) -> None:
    shop = passive_sites(write_sites(tmp_path, {"shop": policy}))["shop"]
    assert refusal in ask(shop, 1, "assign", assignment(shop))


@pytest.mark.parametrize(
    ("policy", "operation", "refusal"),
    [
        ('operations = ["prepare"]', "forward", "the policy refuses 'forward': operations = ['prepare']"),
        ('kinds = ["plan", "shape"]', "forward", "the policy refuses 'rows': kinds = ['plan', 'shape']"),
        ('kinds = ["plan", "shape", "rows"]', "forward", "the policy refuses 'representation'"),
        ("rounds = 2", "forward", "the policy refuses 3 rounds: rounds = 2"),
    ],
)
def test_an_operation_against_the_policy_is_refused_and_logged(
    policy: str, operation: str, refusal: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = ready(passive_sites(write_sites(tmp_path, {"shop": policy}))["shop"])
    with caplog.at_level(logging.WARNING):
        assert refusal in ask(shop, 3, operation, down("rows", {"rows": torch.arange(5)}))
    assert refusal in caplog.text


def test_sizes_against_the_policy_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    shop = passive_sites(write_sites(tmp_path, {"shop": "width = 64\nepochs = 5"}))["shop"]
    assert ask(shop, 1, "assign", assignment(shop, method="fedonce")) == "done"
    for name, value in (("hidden", [8, 10**9]), ("width", 65)):
        assert f"the policy refuses {name} = " in ask(shop, 2, "prepare", down("plan", **{**PLAN, name: value}))
    negative = down("plan", **{**PLAN, "embedding": -1})
    assert "embedding must be a whole number of at least 0. Got -1" in ask(shop, 2, "prepare", negative)
    assert "the policy refuses epochs = 6: epochs = 5" in ask(shop, 3, "pretrain", down("lesson", epochs=6))


def test_a_failure_inside_tells_its_type_and_no_more(shop: PassiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise KeyError("secret-name")

    ready(shop)
    with monkeypatch.context() as broken:
        broken.setattr(Party, "encode_table", breaks)
        said = ask(shop, 3, "represent", down("rows", table="train"))
    assert "failed with KeyError" in said and "secret-name" not in said
    assert ask(shop, 4, "forward", down("rows", {"rows": torch.arange(5)})) == "answered"


def test_refusals_of_several_sites_are_told_together(tmp_path: Path) -> None:
    files = write_sites(tmp_path, dict.fromkeys(("shop", "telco"), "rows = 5"))
    with pytest.raises(WireError, match=r"(?s)assign failed: 2 problems.*site 'shop': .*site 'telco': "):
        active_site(files, passive_sites(files)).train("splitnn", dict(METHODS["splitnn"]))


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> PassiveSite:
    return ready(passive_sites(write_sites(tmp_path_factory.mktemp("fuzzed")))["shop"])


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_refused(data: bytes, fuzzed: PassiveSite) -> None:
    assert open_reply(fuzzed.answer(data)).ended == "refused"


@settings(max_examples=300, deadline=None)
@given(where=st.integers(0, 10**6), new=st.binary(min_size=1, max_size=9), number=st.integers(1, 2**63))
def test_a_request_with_some_bytes_changed_ends_in_a_reply(
    where: int, new: bytes, number: int, fuzzed: PassiveSite
) -> None:
    whole = seal_request(Request(RUN, number, "represent", encode(down("rows", {"rows": torch.arange(9)}))))
    at = where % len(whole)
    reply = open_reply(fuzzed.answer(whole[:at] + new + whole[at + len(new) :]))
    assert reply.ended in ("done", "answered", "refused")
    fuzzed.last = 0


def test_what_is_no_bytes_is_refused(shop: PassiveSite) -> None:
    for thing in (None, "text", {"frame": b""}, np.zeros(3), [b"x"]):
        assert "bytes were expected" in open_reply(shop.answer(thing)).reason


@pytest.mark.parametrize(
    ("method", "options", "noise"),
    [
        ("ssvfl-dp", {"noise": 0.3}, {"name": "noise", "strength": 0.3}),
        ("vafl", {"noise": 0.2}, {"name": "noise", "strength": 0.2, "phases": ["train", "validate"]}),
        ("splitnn", {"protect": "gaussian:representation:2:0.5"}, {"name": "gaussian", "strength": 0.5}),
        ("splitnn", {"protect": "iso:gradient:1"}, None),
    ],
)
def test_noise_that_a_method_asks_for_is_added_at_the_site(
    tmp_path: Path, method: str, options: dict[str, Any], noise: dict[str, Any] | None
) -> None:
    files = write_sites(tmp_path)
    passive = passive_sites(files)
    active_site(files, passive).train(method, {"epochs": 1, "hidden": (4,), "width": 2, **options})
    found = [made.describe() for made in passive["shop"].wire.protections]
    assert len(found) == (noise is not None)
    assert noise is None or noise.items() <= found[0].items()
