"""Frames: what is encoded comes back, its size is known beforehand, and anything malformed is a `WireError`."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from colonnade.errors import WireError
from colonnade.wire.codec import (
    PRECISIONS,
    decode,
    encode,
    frame_size,
    unpack,
)
from colonnade.wire.message import Message
from tests.declared import KINDS, make_wire, packed

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
]  # fmt: skip

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
values = st.dictionaries(
    names,
    st.one_of(
        st.text(st.characters(codec="utf-8"), max_size=6),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.none(),
        st.lists(st.integers(0, 999), max_size=4),
    ),
    max_size=4,
)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    shape = draw(st.lists(st.integers(0, 12), max_size=3))
    dtype = draw(st.sampled_from(DTYPES))
    content = torch.randint(0, 2 if dtype == torch.bool else 100, shape, generator=torch.Generator().manual_seed(0))
    return content.to(dtype)


messages = st.builds(
    Message,
    st.sampled_from(sorted(KINDS)),
    names,
    names,
    names,
    st.dictionaries(names.filter(lambda n: n != "__metadata__"), tensors(), max_size=4),
    values,
)


@settings(max_examples=300, deadline=None)
@given(messages)
def test_what_is_encoded_comes_back_and_its_size_is_known(message: Message) -> None:
    frame = encode(message)
    assert frame_size(message) == len(frame)
    again = decode(frame)
    for field in ("kind", "sender", "receiver", "phase", "values"):
        assert getattr(again, field) == getattr(message, field)
    assert set(again.tensors) == set(message.tensors)
    for name, tensor in message.tensors.items():
        assert again.tensors[name].dtype == tensor.dtype and torch.equal(again.tensors[name], tensor)


@pytest.mark.parametrize("first", DTYPES, ids=str)
@pytest.mark.parametrize("second", DTYPES, ids=str)
def test_the_size_is_right_for_any_two_types(first: torch.dtype, second: torch.dtype) -> None:
    for rows in (0, 1, 13, 125):
        message = Message(
            "rows", "a", "b", "t", {"x": torch.zeros(rows, dtype=first), "y": torch.zeros(2, dtype=second)}
        )
        assert frame_size(message) == len(encode(message))


def test_values_that_are_equal_but_written_differently_have_their_own_size() -> None:
    for value in (1, 1.0, True, 0, 0.0, -0.0, False, "1", None):
        message = Message("order", "a", "b", "t", {}, {"learning_rate": value})
        assert frame_size(message) == len(encode(message)), value


def test_a_transposed_tensor_is_sent_in_order() -> None:
    h = torch.arange(6.0).reshape(2, 3).T
    assert torch.equal(
        decode(encode(Message("representation", "a", "b", "t", {"representation": h}))).tensors["representation"], h
    )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=5, max_size=5), min_size=0, max_size=6),
    st.sampled_from(["representation", "gradient"]),
)
def test_int8_is_off_by_half_a_step_of_its_row_at_most(rows: list[list[float]], kind: str) -> None:
    h = torch.tensor(rows, dtype=torch.float32).reshape(-1, 5)
    sent = packed(Message(kind, "a", "b", "t", {kind: h}), "int8")
    assert sent.tensors[kind].dtype == torch.int8 and sent.tensors[f"{kind}.scale"].shape == (len(h), 1)
    assert frame_size(sent) == len(encode(sent))
    got = unpack(decode(encode(sent))).tensors
    assert set(got) == {kind} and got[kind].dtype == torch.float32
    step = h.abs().amax(dim=1, keepdim=True) / 127
    assert ((got[kind] - h).abs() <= 0.5001 * step + 1e-12).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e5, 1e5, width=32), min_size=1, max_size=20))
def test_float16_keeps_three_digits_and_does_not_overflow(numbers: list[float]) -> None:
    h = torch.tensor([numbers])
    sent = packed(Message("gradient", "a", "b", "t", {"gradient": h}), "float16")
    assert sent.tensors["gradient"].dtype == torch.float16 and frame_size(sent) == len(encode(sent))
    got = unpack(sent).tensors["gradient"]
    wanted = h.clamp(-65504, 65504)
    assert got.dtype == torch.float32 and ((got - wanted).abs() <= wanted.abs() / 2048 + 2**-25).all()


def test_what_does_not_tolerate_rounding_is_not_rounded() -> None:
    rows = Message("rows", "a", "b", "t", {"rows": torch.arange(5)})
    order = Message("order", "a", "b", "t", {}, {"learning_rate": 0.1})
    for precision in PRECISIONS:
        assert packed(rows, precision) is rows and packed(order, precision) is order
    h = Message("representation", "a", "b", "t", {"representation": torch.ones(2, 3)})
    assert packed(h, "float32") is h


def test_bytes_by_hand() -> None:
    """Length and header; then, as safetensors does it, length, header padded to 8 bytes, and 2 x 3 floats."""
    message = Message("gradient", "bank", "shop", "train", {"gradient": torch.zeros(2, 3)})
    header = b'{"kind":"gradient","from":"bank","to":"shop","phase":"train","values":{}}'
    inner = b'{"gradient":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}'
    frame = encode(message)
    assert frame.startswith(len(header).to_bytes(8, "little") + header)
    assert frame.endswith(bytes(24)) and inner in frame
    assert len(frame) == 8 + len(header) + 8 + -(-len(inner) // 8) * 8 + 24


def good_frame() -> bytes:
    return encode(Message("representation", "bank", "shop", "train", {"representation": torch.ones(3, 2)}))


def framed(header: Any, payload: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + payload


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(frame: bytes) -> None:
    with pytest.raises(WireError, match="a frame of"):
        decode(frame)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=120))
def test_a_random_header_or_payload_is_refused(junk: bytes) -> None:
    with pytest.raises(WireError, match="a frame of"):
        decode(framed(junk))
    payload = junk or b"x"
    with pytest.raises(WireError, match="cannot be read"):
        decode(framed({"kind": "rows", "from": "a", "to": "b", "phase": "p", "values": {}}, payload))


def test_a_frame_that_was_cut_is_refused_wherever_it_was_cut() -> None:
    frame = good_frame()
    header = int.from_bytes(frame[:8], "little")
    for length in range(len(frame)):
        if length == 8 + header:
            continue  # a header and nothing else is a message without tensors
        with pytest.raises(WireError, match="a frame of"):
            decode(frame[:length])


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_one_changed_byte_is_refused_or_gives_a_message(drawn: st.DataObject) -> None:
    frame = bytearray(good_frame())
    frame[drawn.draw(st.integers(0, len(frame) - 1))] = drawn.draw(st.integers(0, 255))
    try:
        decode(bytes(frame))
    except WireError as error:
        assert "a frame of" in str(error)


@pytest.mark.parametrize("claimed", [2**63, 2**40, 2**21, 10_000])
def test_a_header_length_that_lies_allocates_nothing(claimed: int) -> None:
    frame = claimed.to_bytes(8, "little") + b"{}"
    tracemalloc.start()
    with pytest.raises(
        WireError, match=f"a frame of 10 bytes announces a header of {claimed}. It was cut or is not ours."
    ):
        decode(frame)
    assert tracemalloc.get_traced_memory()[1] < 1 << 16
    tracemalloc.stop()


def test_a_payload_that_lies_about_its_size_allocates_nothing() -> None:
    inner = json.dumps({"rows": {"dtype": "I64", "shape": [2**40], "data_offsets": [0, 2**43]}}).encode()
    payload = len(inner).to_bytes(8, "little") + inner + bytes(16)
    with pytest.raises(WireError, match="cannot be read"):
        decode(framed({"kind": "rows", "from": "a", "to": "b", "phase": "p", "values": {}}, payload))


HEADER = {"kind": "rows", "from": "a", "to": "b", "phase": "p", "values": {}}


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ({**HEADER, "kind": "labels"}, "'a' sent the undeclared kind 'labels'. Declared in this run: plan, "),
        ({**HEADER, "kind": []}, "its header holds other types than ours"),
        ({**HEADER, "from": 3}, "its header holds other types than ours"),
        ({**HEADER, "values": [1]}, "its header holds other types than ours"),
        ({k: v for k, v in HEADER.items() if k != "phase"}, "cannot be read: 'phase'"),
        ([1, 2], "cannot be read"),
        (b"[" * 50_000, "cannot be read: it is no JSON object"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_header_that_is_not_ours_is_refused(header: Any, text: str) -> None:
    with pytest.raises(WireError) as caught:
        make_wire().receive(decode(framed(header)))
    assert text in str(caught.value)
