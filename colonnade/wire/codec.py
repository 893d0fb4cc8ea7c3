"""Messages as bytes: a JSON header and a safetensors payload, never pickle.

Frame: 8 bytes little-endian length of the header, the header, the payload (absent when there are no tensors).
Floats of lossy kinds travel as float32, as float16, or as int8 with one scale per row.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal, NoReturn

import torch
from torch import Tensor

from colonnade.errors import WireError
from colonnade.wire.message import Message, Value

Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "int8")
SCALE = ".scale"  # suffix of the tensor that holds the scales of an int8 tensor
MAX_HEADER = 1 << 16  # bytes: as Python's objects, the worst of headers is sixty times as large

_SAFETENSORS_NAME = {
    torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip
_ALIGNMENT_ORDER = [
    torch.int64, torch.float64, torch.float32, torch.int32, torch.bfloat16, torch.float16,
    torch.int16, torch.int8, torch.uint8, torch.bool,
]  # fmt: skip


def pack(message: Message, precision: Precision, *, lossy: bool) -> Message:
    """The message as it travels: floats in `precision` if its kind is `lossy`."""
    if precision == "float32" or not lossy:
        return message
    tensors: dict[str, Tensor] = {}
    for name, tensor in message.tensors.items():
        if not tensor.is_floating_point():
            tensors[name] = tensor
        elif precision == "float16":
            tensors[name] = tensor.clamp(-65504, 65504).half()
        else:
            scale = tensor.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127  # (B, 1)
            tensors[name] = (tensor / scale).round().to(torch.int8)
            tensors[name + SCALE] = scale
    return Message(message.kind, message.sender, message.receiver, message.phase, tensors, message.values)


def unpack(message: Message) -> Message:
    """The inverse of `pack`, as far as rounding allows: floats are float32 again."""
    tensors: dict[str, Tensor] = {}
    for name, tensor in message.tensors.items():
        if name.endswith(SCALE):
            continue
        scale = message.tensors.get(name + SCALE)
        if scale is not None:
            tensor = tensor.float() * scale
        tensors[name] = tensor.float() if tensor.is_floating_point() else tensor
    return Message(message.kind, message.sender, message.receiver, message.phase, tensors, message.values)


def encode(message: Message) -> bytes:
    """The frame of a packed message."""
    from safetensors.torch import save

    header = _header(message).encode()
    payload = save({name: t.contiguous() for name, t in message.tensors.items()}) if message.tensors else b""
    return len(header).to_bytes(8, "little") + header + payload


def decode(frame: bytes) -> Message:
    """The packed message of a frame; anything malformed is a `WireError`."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    length = int.from_bytes(frame[:8], "little")
    if len(frame) < 8 or length > min(MAX_HEADER, len(frame) - 8):
        raise WireError(f"a frame of {len(frame)} bytes announces a header of {length}. It was cut or is not ours.")
    header = read_json(frame[8 : 8 + length], "header")
    payload = frame[8 + length :]
    try:
        kind, sender, receiver, phase, values = (header[k] for k in ("kind", "from", "to", "phase", "values"))
        tensors = load(payload) if payload else {}
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError, OverflowError, AssertionError) as error:
        # safetensors refuses what it does not know; torch what it announces and cannot be, e.g. strides beyond 64 bits
        raise WireError(f"a frame of {len(frame)} bytes cannot be read: {error}") from None
    if not all(isinstance(text, str) for text in (kind, sender, receiver, phase)) or not isinstance(values, dict):
        raise WireError(f"a frame of {len(frame)} bytes cannot be read: its header holds other types than ours.")
    return Message(kind, sender, receiver, phase, tensors, values)


def read_json(text: bytes, what: str) -> dict[str, Any]:
    """The object that some JSON holds. Repeated keys, of which two readers may take different ones, are refused."""
    found = None
    with suppress(ValueError, RecursionError):
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    if not isinstance(found, dict):
        raise WireError(
            f"a frame of {len(text)} bytes of {what} cannot be read: it is no JSON object, has a key twice, or NaN or "
            f"infinity."
        )
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError


def _header(message: Message) -> str:
    fields = {"kind": message.kind, "from": message.sender, "to": message.receiver, "phase": message.phase}
    return json.dumps({**fields, "values": message.values}, separators=(",", ":"))


def frame_size(message: Message) -> int:
    """`len(encode(message))` without encoding: what the meter counts when nothing is serialised."""
    shapes = tuple((name, tensor.dtype, tuple(tensor.shape)) for name, tensor in message.tensors.items())
    # 1, 1.0 and True are one key to a cache, and differ in length
    values = tuple((k, v, repr(v)) for k, v in message.values.items()) if message.values else ()
    try:
        return _frame_size(message.kind, message.sender, message.receiver, message.phase, shapes, values)
    except TypeError:  # a list among the values cannot be a cache key
        return 8 + len(_header(message)) + _payload_size(shapes)


@lru_cache(maxsize=4096)
def _frame_size(
    kind: str,
    sender: str,
    receiver: str,
    phase: str,
    shapes: tuple[tuple[str, torch.dtype, tuple[int, ...]], ...],
    values: tuple[tuple[str, Value, str], ...],
) -> int:
    header = _header(Message(kind, sender, receiver, phase, {}, {k: v for k, v, _ in values}))
    return 8 + len(header.encode()) + _payload_size(shapes)


def _payload_size(shapes: tuple[tuple[str, torch.dtype, tuple[int, ...]], ...]) -> int:
    """Size of the safetensors payload: 8 bytes, a JSON header padded to 8, the data in order of alignment and name."""
    if not shapes:
        return 0
    header: dict[str, dict[str, object]] = {}
    offset = 0
    for name, dtype, shape in sorted(shapes, key=lambda s: (_ALIGNMENT_ORDER.index(s[1]), s[0])):
        end = offset + math.prod(shape) * dtype.itemsize
        header[name] = {"dtype": _SAFETENSORS_NAME[dtype], "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    length = len(json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode())
    return 8 + -(-length // 8) * 8 + offset
