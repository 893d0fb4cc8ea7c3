"""Frames from another site: what they announce is checked before anything is made of it.

First the size, then the header (kind, direction, who to whom), then names, types and shapes in the payload's own
header, and only then the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from colonnade.errors import WireError
from colonnade.wire.codec import MAX_HEADER, SCALE, Precision, decode, read_json
from colonnade.wire.kind import Direction, Kind, Kinds
from colonnade.wire.message import Message

_FLOATS: dict[Precision, frozenset[str]] = {
    "float32": frozenset({"F32"}), "float16": frozenset({"F16"}), "int8": frozenset({"I8", "F32"}),
}  # fmt: skip
_WHOLE = frozenset({"I64", "I32", "U8"})
_PHASE = 100  # characters
_EMPTY = 1 << 16  # how long the other axes of a tensor without numbers may be, multiplied
_LARGEST = 1 << 64  # of a whole number among the values


def open_frame(
    frame: bytes,
    sender: str,
    receiver: str,
    direction: Direction,
    *,
    kinds: Kinds,
    largest: int,
    precision: Precision = "float32",
) -> Message:
    """The packed message of a frame that `sender` may send to `receiver`; anything else is a `WireError`.

    Args:
        frame: what came.
        sender: who is connected.
        receiver: who reads it.
        direction: which way it came.
        kinds: that the run declares.
        largest: bytes of a frame.
        precision: in which lossy kinds travel.
    """
    if len(frame) > largest:
        raise WireError(f"a frame of {len(frame)} bytes came from {sender!r}. At most {largest} are taken.")
    start = 8 + int.from_bytes(frame[:8], "little")
    if len(frame) < 8 or start > min(len(frame), MAX_HEADER):
        raise WireError(f"a frame of {len(frame)} bytes announces a header up to byte {start}. It was cut.")
    header = read_json(frame[8:start], "header")
    kind = kinds.get(header["kind"]) if isinstance(header.get("kind"), str) else None
    if kind is None:
        raise WireError(f"{sender!r} sent a message of an undeclared kind. Declared: {', '.join(sorted(kinds))}.")
    if kind.direction != direction:
        raise WireError(f"{header['kind']} may only go {kind.direction}, and came {direction} from {sender!r}.")
    if header.get("from") != sender or header.get("to") != receiver:
        raise WireError(f"a message came from {sender!r} to {receiver!r} that says it goes between others.")
    phase = header.get("phase")
    if not isinstance(phase, str) or len(phase) > _PHASE or not phase.isprintable():
        raise WireError(f"a message from {sender!r} names no phase, or one of more than {_PHASE} characters.")
    _check_values(header.get("values"), sender)
    _check_payload(memoryview(frame)[start:], kind, header["kind"], precision)  # not copied
    return decode(frame)


def _check_values(values: object, sender: str) -> None:
    if not isinstance(values, dict) or not all(_fits(v) for v in values.values()):
        raise WireError(f"the values of a message from {sender!r} are not settings, or are too large.")


def _fits(value: object) -> bool:
    """Whether a number is finite, and a whole one no longer than 64 bits; what else may be there is the wire's."""
    if isinstance(value, float):
        return math.isfinite(value)
    numbers = value if isinstance(value, list) else [value]
    return all(abs(n) < _LARGEST for n in numbers if isinstance(n, int))


def _check_payload(payload: memoryview, kind: Kind, name: str, precision: Precision) -> None:
    """Names, types and axes in safetensors' header; the data themselves are not looked at."""
    if not payload:
        return
    end = 8 + int.from_bytes(payload[:8], "little")
    if len(payload) < 8 or end > min(len(payload), MAX_HEADER):
        raise WireError(f"the payload of a {name} announces more than it has. It was cut.")
    found = {k: _entry(v, name) for k, v in read_json(bytes(payload[8:end]), "payload").items()}
    if len(found) > 2 * len(kind.tensors):
        raise WireError(f"a {name} came with {len(found)} tensors. Declared: {', '.join(kind.tensors) or 'none'}.")
    for key, (dtype, shape) in found.items():
        sort, axes = kind.tensors.get(key.removesuffix(SCALE), ("", 0))
        allowed = _FLOATS[precision if kind.lossy else "float32"] if sort == "float" else _WHOLE if sort else ()
        if dtype not in allowed or len(shape) != axes:
            raise WireError(
                f"a {name} came with {key!r} of type {dtype!r} and {len(shape)} axes, which is not declared."
            )
        if 0 in shape and math.prod(n for n in shape if n) > _EMPTY:  # no bytes bound it, and work goes by its axes
            raise WireError(f"a {name} came with {key!r} without a number and of more than {_EMPTY} rows.")
        if key.endswith(SCALE):
            _check_scale(key, found, name)


def _entry(entry: object, name: str) -> tuple[str, list[int]]:
    if isinstance(entry, Mapping):
        dtype, shape = entry.get("dtype"), entry.get("shape")
        if isinstance(dtype, str) and isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape):
            return dtype, shape
    raise WireError(f"the payload of a {name} describes a tensor without type and shape.")


def _check_scale(key: str, found: Mapping[str, tuple[str, list[int]]], name: str) -> None:
    """One scale per row: another shape would be spread over a larger tensor than the one that came."""
    dtype, shape = found.get(key.removesuffix(SCALE), ("", []))
    if dtype != "I8" or found[key] != ("F32", [*shape[:-1], 1]):
        raise WireError(f"a {name} came with scales {key!r} that do not fit its rows.")
