"""What the active side refuses of a site's replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from colonnade.engines.remote import Link, Remote
from colonnade.errors import WireError
from colonnade.methods._base.setup import SPLIT_SKILLS
from colonnade.parties.engine import Requests
from colonnade.parties.skills.skill import offer_of
from colonnade.wire.codec import encode
from colonnade.wire.envelope import Reply, Request, open_request, run_of, seal_reply, seal_request
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire

RUN = run_of("replies")
OFFER = offer_of(*SPLIT_SKILLS)
FORWARD = OFFER.operation("forward")
ROWS = Requests("rows", "bank", "train", ("shop",), {"rows": torch.arange(3)}, {})


def engine(answer: Callable[[Request], Any], largest: int = 10**6) -> Remote:
    link = Link({"shop": lambda data: answer(open_request(data))}, RUN, largest=largest)
    return Remote(("shop",), Wire(OFFER.kinds, active="bank"), link, OFFER)


def replied(kind: str = "representation", sender: str = "shop", name: str = "representation") -> Any:
    frame = encode(Message(kind, sender, "bank", "train", {name: torch.ones(3, 2)}))
    return lambda request: seal_reply(Reply(request.run, request.number, "answered", frame))


def test_an_answer_is_received_and_counted() -> None:
    remote = engine(replied())
    answers = remote.call(FORWARD, ROWS)
    assert torch.equal(answers.tensors["representation"]["shop"], torch.ones(3, 2))
    back = Message("representation", "shop", "bank", "train", {"representation": torch.ones(3, 2)})
    assert remote.wire.traffic.bytes == len(encode(ROWS.message("shop"))) + len(encode(back))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda r: b"nonsense", "not ours"),
        (lambda r: None, "bytes were expected"),
        (lambda r: seal_request(r), "not ours"),
        (lambda r: seal_reply(Reply(r.run, r.number + 1, "done")), "answered request 2, and 1"),
        (lambda r: seal_reply(Reply(run_of("other"), r.number, "done")), "answered request 1"),
        (lambda r: seal_reply(Reply(r.run, r.number, "done")), "none came from 'shop'"),
        (lambda r: seal_reply(Reply(r.run, r.number, "refused", b"no\x1b[31m")), r"site 'shop': no\?\[31m"),
        (replied(sender="telco"), "goes between others"),
        (replied(kind="shape", name="representation"), "a shape came with 1 tensors"),
        (replied(kind="projection", name="projection"), "undeclared kind"),
        (replied(name="features"), "not declared"),
    ],
)
def test_replies_that_are_not_right_are_refused(answer: Callable[[Request], Any], error: str) -> None:
    with pytest.raises(WireError, match=error):
        engine(answer).call(FORWARD, ROWS)


def test_a_reply_that_is_too_large_is_refused() -> None:
    with pytest.raises(WireError, match="At most 50 are taken"):
        engine(replied(), largest=50).call(FORWARD, ROWS)


def test_a_party_without_a_site_is_an_error() -> None:
    with pytest.raises(WireError, match=r"no site of \['telco'\] is connected. Connected: \['shop'\]"):
        Remote(("telco",), Wire(OFFER.kinds), Link({"shop": lambda data: data}, RUN), OFFER)
