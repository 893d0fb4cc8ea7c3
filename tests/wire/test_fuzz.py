"""Whatever bytes come from another party end in a message or in a `WireError`, and take memory by their size alone.

`make bench BENCH=fuzz` puts a million inputs of the same makers.
"""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from colonnade.errors import WireError
from colonnade.sites.intersection import frames as align
from colonnade.wire.codec import MAX_HEADER, PRECISIONS, Precision, decode, encode
from colonnade.wire.envelope import open_reply, open_request
from colonnade.wire.guard import open_frame
from colonnade.wire.message import Message
from tests.declared import KINDS, make_wire, packed
from tests.wire.malformed import BANK, SHOP, Frames, Parts, joined
from tests.wire.malformed import example as message_of

LARGEST = 1 << 22
FRAMES, PARTS = Frames(0), Parts(0)
ROWS = {"kind": "rows", "from": BANK, "to": SHOP, "phase": "train", "values": {}}
trees = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
        st.sampled_from(["F32", "I64", "bank", "shop", "rows", "\ud800", 2**63, [0, 2**62]]),
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def opened(frame: bytes, kind: str, precision: Precision = "float32") -> Message | None:
    """What a receiver makes of a frame; None where it refuses it. Anything else fails the test."""
    up = KINDS[kind].direction == "up"
    ends = (SHOP, BANK) if up else (BANK, SHOP)
    try:
        packed = open_frame(frame, *ends, "up" if up else "down", kinds=KINDS, largest=LARGEST, precision=precision)
        return make_wire(precision=precision, active=BANK).receive(packed)
    except WireError:
        return None


def refused(do: Callable[[], object]) -> bool:
    try:
        do()
    except WireError:
        return True
    return False


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\xff" * 8)
def test_noise_is_refused_by_all_that_read_bytes(data: bytes) -> None:
    assert refused(lambda: decode(data)) and opened(data, "rows") is None
    assert refused(lambda: align.decode(data))
    assert refused(lambda: open_request(data)) and refused(lambda: open_reply(data))


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 2**32))
def test_changed_frames_are_refused_or_are_what_their_kind_declares(seed: int) -> None:
    FRAMES.draw.seed(seed)
    for _ in range(8):
        kind, frame = FRAMES.next()
        for precision in PRECISIONS:
            message = opened(frame, kind, precision)
            if message is not None:
                declared = KINDS[message.kind]
                assert declared.tensors.keys() >= message.tensors.keys()
                assert declared.values >= message.values.keys()
                for name, tensor in message.tensors.items():
                    sort, axes = declared.tensors[name]
                    assert tensor.ndim == axes and tensor.is_floating_point() == (sort == "float")
                    assert math.isfinite(float(tensor.double().sum()))
        refused(lambda frame=frame: decode(frame))  # type: ignore[misc]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_changed_parts_of_an_alignment_are_refused_or_hold_what_they_announce(seed: int) -> None:
    PARTS.draw.seed(seed)
    for _ in range(20):
        data = PARTS.next()
        try:
            frame = align.decode(data)
        except WireError:
            continue
        items = frame.positions() if frame.kind == align.Kind.NOTICE else frame.points()
        assert len(items) <= min(frame.chunk, frame.total, len(data))


@settings(max_examples=200, deadline=None)
@given(header=st.dictionaries(st.text(max_size=5), trees, max_size=5), payload=trees, data=st.binary(max_size=40))
def test_headers_of_any_json_are_refused(header: dict[str, Any], payload: Any, data: bytes) -> None:
    assert opened(joined(header, {"rows": payload}, data), "rows") is None
    inside = joined(ROWS, {"rows": payload}, data)  # a tensor without numbers can come of it
    message = opened(inside, "rows")
    assert message is None or message.tensors["rows"].numel() * message.tensors["rows"].itemsize == len(data)
    message = opened(joined({**ROWS, "values": header}, None, b""), "rows")
    assert message is None or message.values.keys() <= KINDS["rows"].values


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_passes_as_it_is(kind: str, precision: Precision) -> None:
    sent = message_of(kind, 5, torch.Generator().manual_seed(0))
    received = opened(encode(packed(sent, precision)), kind, precision)
    assert received is not None and received.values == sent.values and received.tensors.keys() == sent.tensors.keys()


@pytest.mark.parametrize(
    ("tensors", "what"),
    [
        ('{"rows":{"dtype":"I64","shape":[0],"data_offsets":[0,0]},"rows":{"dtype":"I64","shape":[0]}}', "a key twice"),
        ({"rows": {"dtype": "\ud800", "shape": [0], "data_offsets": [0, 0]}}, r"type '\\ud800'"),
        ({"rows": {"dtype": "I64", "shape": [2**62], "data_offsets": [0, 0]}}, "cannot be read"),
        ('{"rows":' + "[" * 30_000 + "}", "is no JSON object"),
    ],
)
def test_headers_that_were_once_taken(tensors: Any, what: str) -> None:
    with pytest.raises(WireError, match=what):
        open_frame(joined(ROWS, tensors, b""), BANK, SHOP, "down", kinds=KINDS, largest=LARGEST)


@pytest.mark.parametrize("shape", [[0, 2**62], [2**40, 0], [0, 2**63]])
def test_a_tensor_without_numbers_is_not_as_long_as_it_likes(shape: list[int]) -> None:
    header = {**ROWS, "kind": "gradient"}
    frame = joined(header, {"gradient": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}, b"")
    with pytest.raises(WireError, match="without a number"):
        open_frame(frame, BANK, SHOP, "down", kinds=KINDS, largest=LARGEST)


def test_strides_beyond_64_bits_are_refused() -> None:
    shape = [7, 0, 2**40, 2**40]
    with pytest.raises(WireError, match="cannot be read: Stride"):
        decode(joined(ROWS, {"rows": {"dtype": "I64", "shape": shape, "data_offsets": [0, 0]}}, b""))


@pytest.mark.parametrize("value", [2**64, [1, 10**400], float("nan"), float("inf")])
def test_numbers_without_bound_are_no_settings(value: Any) -> None:
    frame = joined({**ROWS, "values": {"table": value}}, None, b"")
    with pytest.raises(WireError, match=r"too large|infinity"):
        open_frame(frame, BANK, SHOP, "down", kinds=KINDS, largest=LARGEST)


@pytest.mark.parametrize("item", ["[]", "[[]]", "{}", '"ab"', '{"a":0}', "1e9", "12345678901"])
@pytest.mark.parametrize("where", ["header", "payload"])
def test_no_header_takes_much_memory(item: str, where: str) -> None:
    for bytes_ in (MAX_HEADER - 1000, 20 * MAX_HEADER):  # one that is read, one that is not
        text = "[" + ",".join([item] * (bytes_ // (len(item) + 1))) + "]"
        if where == "header":
            frame = joined(json.dumps(ROWS)[:-1] + f',"more":{text}}}', None, b"")
        else:
            frame = joined(ROWS, f'{{"rows":{{"dtype":"I64","shape":{text},"data_offsets":[0,0]}}}}', b"")
        tracemalloc.start()
        try:
            opened(frame, "rows")
            assert tracemalloc.get_traced_memory()[1] < 16 * len(frame) + (4 << 20)
        finally:
            tracemalloc.stop()
