"""Bytes as an enemy or a bad link would send them: noise, and valid messages that were changed. The same for one seed.

`Frames` makes frames of the codec, `Parts` messages of the alignment; both also change bytes without looking at them.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from colonnade.sites.intersection import frames as align
from colonnade.wire.codec import PRECISIONS, encode
from colonnade.wire.message import Message
from tests.declared import KINDS, packed

BANK, SHOP = "bank", "shop"
ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 7, 2**31, 2**62, 2**63, 2**64, -(2**70), 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "\x00", "\ud800", "é" * 50, "x" * 1000, "train", "F32", "I64", [], {}, [[]], [1] * 100,
    [0, 2**62], [2**31, 2**31], [2**62, 0], [-1], [0.5], [True], ["1"], {"a": {"b": [None]}}, "__metadata__", "../..",
    "\x1b[31m\n",
)  # fmt: skip
SIZES = (0, 1, 7, 8, 9, 255, 2**16, 2**20, 2**20 + 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1)
DTYPES = ("F32", "F16", "BF16", "F64", "I64", "I32", "I16", "I8", "U8", "U64", "BOOL", "F8_E4M3", "C64", "f32", "")
VALUES: dict[str, Any] = {
    "hidden": [8], "width": 4, "embedding": 4, "image": "cnn0", "seed": 3, "precision": "float32", "objective": "nat",
    "epochs": 1, "batch_size": 16, "learning_rate": 0.1, "weight_decay": 0.0, "optimizer": "adam", "cosine": False,
    "assignment": "fixed", "clip": 1.0, "noise": 1.0, "table": "train", "method": "splitnn", "codec": "float32",
    "gamma": 0.5, "towers": "both", "updates": 1, "staleness": 0, "shared": "top", "bins": 8, "rows": 9, "outputs": 1,
    "count": 1, "output": 0, "turn": 1, "tower": "local", "first": True, "beta": 1.0, "zeta": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class Valid:
    """A valid frame, whole and in its pieces."""

    kind: str
    frame: bytes
    header: dict[str, Any]
    tensors: dict[str, Any] | None  # the payload's own header
    data: bytes


def example(kind: str, rows: int, generator: torch.Generator) -> Message:
    """A valid message of a kind, about so many rows."""
    declared = KINDS[kind]

    def tensor(sort: str, axes: int) -> Tensor:
        shape = (rows, 3, 2)[:axes]
        if sort == "float":
            return torch.randn(shape, generator=generator)
        dtype = (torch.int64, torch.int32, torch.uint8)[rows % 3]
        return torch.randint(0, 9, shape, generator=generator).to(dtype)

    tensors = {name: tensor(*what) for name, what in declared.tensors.items()}
    values = {name: VALUES[name] for name in sorted(declared.values) if name in VALUES}
    ends = (SHOP, BANK) if declared.direction == "up" else (BANK, SHOP)
    return Message(kind, *ends, "train", tensors, values)


class Mutations:
    """Changes to bytes that look at nothing."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def noise(self) -> bytes:
        """Random bytes: few most of the time."""
        return self.draw.randbytes(self.draw.choice((0, 1, 8, 29, 44, 60, 100, 200, 400, 3000)))

    def flip(self, data: bytes) -> bytes:
        """One to eight bits."""
        changed = bytearray(data or b"\x00")
        for _ in range(self.draw.randint(1, 8)):
            changed[self.draw.randrange(len(changed))] ^= 1 << self.draw.randrange(8)
        return bytes(changed)

    def cut(self, data: bytes) -> bytes:
        """The beginning, the end, or both without the middle."""
        at, to = sorted(self.draw.randrange(len(data) + 1) for _ in range(2))
        return self.draw.choice((data[:at], data[to:], data[:at] + data[to:]))

    def grow(self, data: bytes) -> bytes:
        """Random bytes or a piece of its own inside."""
        at, to = sorted(self.draw.randrange(len(data) + 1) for _ in range(2))
        return data[:at] + self.draw.choice((self.draw.randbytes(self.draw.randint(1, 40)), data[at:to])) + data[at:]

    def splice(self, data: bytes, other: bytes) -> bytes:
        """The beginning of one and the end of another."""
        return data[: self.draw.randrange(len(data) + 1)] + other[self.draw.randrange(len(other) + 1) :]

    def blind(self, data: bytes, other: bytes) -> bytes:
        """Any of these changes."""
        change: Callable[[bytes], bytes] = self.draw.choice((self.flip, self.flip, self.cut, self.grow))
        return self.splice(data, other) if self.draw.random() < 0.2 else change(data)


class Frames(Mutations):
    """Frames of the codec, valid or not."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        generator = torch.Generator().manual_seed(seed)
        self.known = [
            valid_of(packed(example(kind, rows, generator), precision))
            for kind in KINDS for precision in PRECISIONS for rows in (0, 1, 5, 9)
        ]  # fmt: skip
        self.changes: tuple[Callable[[Valid], bytes], ...] = (
            self.valid, self.blindly, self.blindly, self.lengths, self.field, self.keys, self.tensor, self.tensor,
            self.names, self.numbers, self.deep,
        )  # fmt: skip

    def next(self) -> tuple[str, bytes]:
        """A kind that it may be of, and a frame."""
        base = self.draw.choice(self.known)
        chance = self.draw.random()
        if chance < 0.05:
            return base.kind, self.noise()
        if chance < 0.0502:
            return base.kind, self.bulk(base)
        if chance < 0.0504:
            return base.kind, self.large()
        return base.kind, self.draw.choice(self.changes)(base)

    def valid(self, base: Valid) -> bytes:
        """As it is."""
        return base.frame

    def blindly(self, base: Valid) -> bytes:
        """Bytes changed."""
        return self.blind(base.frame, self.draw.choice(self.known).frame)

    def lengths(self, base: Valid) -> bytes:
        """Another length of a header announced than it has."""
        size = self.draw.choice((*SIZES, len(base.frame), len(base.frame) - 8, len(base.frame) - 9))
        whole = bytearray(base.frame)
        at = 0 if base.tensors is None or self.draw.random() < 0.5 else len(joined(base.header, None, b""))
        whole[at : at + 8] = struct.pack("<Q", max(0, size))
        return bytes(whole)

    def field(self, base: Valid) -> bytes:
        """One field or one value of the header is something else."""
        header = {**base.header, "values": dict(base.header["values"])}
        place = header["values"] if header["values"] and self.draw.random() < 0.5 else header
        place[self.draw.choice([*place])] = self.draw.choice(ODD)
        return joined(header, base.tensors, base.data)

    def keys(self, base: Valid) -> bytes:
        """A key of the header is missing, another one, or there twice."""
        texts = [f"{json.dumps(k)}:{json.dumps(v)}" for k, v in base.header.items()]
        at = self.draw.randrange(len(texts))
        name = json.dumps(self.draw.choice(("kind", "from", "values", "", "\ud800", "x" * 300)))
        again = f"{name}:{json.dumps(self.draw.choice((*ODD, *KINDS)))}"
        texts = self.draw.choice((texts[:at] + texts[at + 1 :], [*texts, again], [again, *texts], texts * 3))
        return joined("{" + ",".join(texts) + "}", base.tensors, base.data)

    def tensor(self, base: Valid) -> bytes:
        """Another type, shape or place of a tensor than it has."""
        if not base.tensors:
            return self.names(base)
        tensors = {name: dict(entry) for name, entry in base.tensors.items()}
        entry = self.draw.choice([*tensors.values()])
        what = self.draw.choice(("dtype", "shape", "shape", "data_offsets", "data_offsets"))
        entry[what] = self.draw.choice((DTYPES, ODD)[what != "dtype" or self.draw.random() < 0.3])
        if what != "dtype" and self.draw.random() < 0.5:
            entry[what] = [self.draw.choice((*SIZES, 2, 3, 5)) for _ in range(self.draw.choice((0, 1, 2, 2, 3, 9)))]
        if self.draw.random() < 0.2:
            del entry[self.draw.choice([*entry])]
        return joined(base.header, tensors, base.data)

    def names(self, base: Valid) -> bytes:
        """Another name of a tensor, one more, or one twice."""
        tensors = base.tensors or {}
        usual = {"dtype": self.draw.choice(DTYPES), "shape": [0], "data_offsets": [0, 0]}
        texts = [f"{json.dumps(k)}:{json.dumps(v)}" for k, v in tensors.items()]
        name = self.draw.choice((*tensors, *(f"{t}.scale" for t in tensors), "x", "", "\ud800", "__metadata__"))
        more = f"{json.dumps(name)}:{json.dumps(self.draw.choice((usual, *tensors.values(), *ODD)))}"
        texts = self.draw.choice(([*texts, more], [more, *texts], [more], texts * 2, [more] * 50))
        return joined(base.header, "{" + ",".join(texts) + "}", base.data)

    def numbers(self, base: Valid) -> bytes:
        """NaN, infinity, or too many or too few of the numbers."""
        odd = self.draw.choice((b"\xff", b"\x7f\x80\x00\x00", b"\x00\x00\x80\x7f", b"\x00\x7c", b"\x00" * 8))
        data = (odd * len(base.data))[: len(base.data) + self.draw.choice((0, 0, 0, 1, -1, 8))]
        return joined(base.header, base.tensors, data)

    def deep(self, base: Valid) -> bytes:
        """Lists in lists, in either header."""
        depth = self.draw.choice((5, 50, 500, 900, 5000, 20_000))
        opened, closed = self.draw.choice((("[", "]"), ('{"a":', "}")))
        text = opened * depth + "0" + (closed * depth if self.draw.random() < 0.7 else "")
        if self.draw.random() < 0.5:
            return joined(json.dumps(base.header)[:-1] + f',"more":{text}}}', base.tensors, base.data)
        return joined(base.header, f'{{"x":{text}}}', base.data)

    def bulk(self, base: Valid) -> bytes:
        """A header of very many small things."""
        item = self.draw.choice(("[]", "{}", '"ab"', "1e9", '"é"', "[[]]", "99999999999"))
        text = "[" + ",".join([item] * self.draw.choice((2000, 20_000, 200_000))) + "]"
        if self.draw.random() < 0.5:
            return joined(json.dumps(base.header)[:-1] + f',"more":{text}}}', base.tensors, base.data)
        return joined(base.header, f'{{"x":{{"dtype":"F32","shape":{text},"data_offsets":[0,0]}}}}', base.data)

    def large(self) -> bytes:
        """A valid frame of a megabyte, of numbers that are unpacked to as many as can be."""
        message = example("gradient", 1, torch.Generator())
        message.tensors["gradient"] = torch.ones(self.draw.choice((1000, 5000)), 200)
        return encode(packed(message, self.draw.choice(PRECISIONS)))


class Parts(Mutations):
    """Messages of the alignment, valid or not."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.known = [self._valid(kind, total) for kind in align.Kind for total in (1, 5, 150)]

    def _valid(self, kind: align.Kind, total: int) -> bytes:
        item = {align.Kind.NOTICE: 8, align.Kind.SETUP: 33, align.Kind.REQUEST: 33, align.Kind.RESPONSE: 33}.get(
            kind, 0
        )
        frame = align.Frame(kind, "text", "both", align.NO_SESSION, 0, total, payload=self.draw.randbytes(item * total))
        return align.encode(frame)

    def next(self) -> bytes:
        """A message."""
        chance, base = self.draw.random(), self.draw.choice(self.known)
        if chance < 0.1:
            return self.noise()
        if chance < 0.2:
            return base
        if chance < 0.5:
            return self.blind(base, self.draw.choice(self.known))
        magic, version, kind, rule, reveal, session, part, chunk, total = struct.unpack_from("<4s4B16sIIQ", base)
        odd = [self.draw.choice((*SIZES, kept, kept + 1)) for kept in (kind, rule, reveal, part, chunk, total)]
        kind, rule, reveal = (
            o % 256 if self.draw.random() < 0.2 else k for o, k in zip(odd[:3], (kind, rule, reveal), strict=True)
        )
        part, chunk = (
            o % 2**32 if self.draw.random() < 0.4 else k for o, k in zip(odd[3:5], (part, chunk), strict=True)
        )
        total = odd[5] % 2**64 if self.draw.random() < 0.4 else total
        return struct.pack("<4s4B16sIIQ", magic, version, kind, rule, reveal, session, part, chunk, total) + base[44:]


def valid_of(message: Message) -> Valid:
    """The frame of a packed message in its pieces."""
    frame = encode(message)
    end = 8 + int.from_bytes(frame[:8], "little")
    payload = frame[end:]
    header = json.loads(frame[8:end])
    if not payload:
        return Valid(message.kind, frame, header, None, b"")
    start = 8 + int.from_bytes(payload[:8], "little")
    return Valid(message.kind, frame, header, json.loads(payload[8:start]), payload[start:])


def joined(header: dict[str, Any] | str, tensors: dict[str, Any] | str | None, data: bytes) -> bytes:
    """A frame of pieces; nothing is checked."""
    texts = [json.dumps(part) if isinstance(part, dict) else part for part in (header, tensors) if part is not None]
    first, *rest = [text.encode("utf-8", "surrogatepass") for text in texts]
    whole = struct.pack("<Q", len(first)) + first
    for text in rest:
        whole += struct.pack("<Q", len(text)) + text
    return whole + data
