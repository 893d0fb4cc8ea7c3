"""Protections as text: `NAME:KIND:STRENGTH[:MORE][@PHASE/PHASE…]`, several joined by `+`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from colonnade.errors import ConfigError, did_you_mean
from colonnade.wire.protection import GaussianNoise, Iso, Noise
from colonnade.wire.protections.clipped import ClippedGaussian
from colonnade.wire.protections.marvell import Marvell

PROTECTIONS: dict[str, tuple[str, ...]] = {
    "noise": ("SCALE",),
    "iso": ("LAMBDA",),
    "gaussian": ("CLIP", "SIGMA"),
    "marvell": ("S",),
}  # name -> what its numbers are


@dataclass(frozen=True)
class Wanted:
    """One protection as it was asked for."""

    name: str
    kind: str
    numbers: tuple[float, ...]
    phases: frozenset[str] | None


def listed(protect: object) -> list[str]:
    """The entries of the option `protect`: a text, in which `+` joins several, or a tuple of such texts."""
    given = [protect] if isinstance(protect, str) else protect
    if not isinstance(given, tuple | list) or not all(isinstance(entry, str) for entry in given):
        raise ConfigError(
            f"protect must be texts of the form NAME:KIND:STRENGTH. Got {protect!r}. Use e.g. 'iso:gradient:1', and () "
            f"for none."
        )
    # a "+" before a digit is that of 1e+3
    return [part.strip() for entry in given for part in re.split(r"\+(?!\d)", entry)]


def parse(entry: str) -> Wanted:
    """One entry; what is wrong with it is a `ConfigError`."""
    text, at, where = entry.partition("@")
    name, *fields = text.split(":")
    if name not in PROTECTIONS:
        raise ConfigError(f"protect {entry!r}: there is no protection {name!r}. {did_you_mean(name, PROTECTIONS)}")
    form = ":".join([name, "KIND", *PROTECTIONS[name]])
    if len(fields) != 1 + len(PROTECTIONS[name]):
        raise ConfigError(f"protect {entry!r} must be of the form {form}, and may end in @PHASE.")
    kind, *numbers = fields
    for part, number in zip(PROTECTIONS[name], numbers, strict=True):
        if not 0 < _number(number) < math.inf:
            raise ConfigError(
                f"protect {entry!r}: {part} must be a number above 0. Got {number!r}. Leave it out for 0."
            )
    phases = frozenset(where.split("/")) if at else None
    return Wanted(name, kind, tuple(map(_number, numbers)), phases)


def text_of(made: Noise) -> str:
    """The inverse of `parse` and `build`: a protection as text."""
    clip = [made.clip] if isinstance(made, ClippedGaussian) else []
    text = ":".join([made.name, made.kind, *(repr(float(number)).removesuffix(".0") for number in (*clip, made.scale))])
    return text if made.phases is None else f"{text}@{'/'.join(sorted(made.phases))}"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def find_problems(
    protect: object,
    method: str,
    sent: Mapping[str, tuple[str, ...]],
    mixed: Mapping[str, str],
    lacks: Mapping[str, str],
    exact: Collection[str] = (),
) -> list[str]:
    """What is wrong with the option `protect` of a method, all at once.

    Args:
        protect: the option.
        method: its name.
        sent: kinds with real numbers that it sends, and in which phases.
        mixed: kinds whose rows depend on the other rows of a batch, and why.
        lacks: why it does not send some other kinds, and what changes that.
        exact: kinds without real numbers that it sends.
    """
    try:
        entries = listed(protect)
    except ConfigError as error:
        return [str(error)]
    problems = []
    for entry in entries:
        try:
            problems += _unfit(entry, parse(entry), method, sent, mixed, lacks, exact)
        except ConfigError as error:
            problems.append(str(error))
    return problems


def unreadable(protect: object) -> list[str]:
    """What is wrong with the option `protect` of any method, whatever it sends."""
    problems = []
    try:
        entries = listed(protect)
    except ConfigError as error:
        return [str(error)]
    for entry in entries:
        try:
            parse(entry)
        except ConfigError as error:
            problems.append(str(error))
    return problems


def _unfit(
    entry: str,
    wanted: Wanted,
    method: str,
    sent: Mapping[str, tuple[str, ...]],
    mixed: Mapping[str, str],
    lacks: Mapping[str, str],
    exact: Collection[str],
) -> list[str]:
    """What the method has no message for, or the protection no meaning."""
    kind = wanted.kind
    if kind in exact:
        sends = f"It sends {', '.join(sent)}."
        return [f"protect {entry!r}: {kind!r} is no kind of message that holds real numbers. {sends}"]
    if kind not in sent:
        near = [] if kind in lacks else get_close_matches(kind, sent, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else lacks.get(kind, f"It sends {', '.join(sent)}.")
        return [f"protect {entry!r}: {method} sends no {kind}, so this would protect nothing. {hint}"]
    problems = []
    for phase in sorted((wanted.phases or frozenset()) - set(sent[kind])):
        problems.append(
            f"protect {entry!r}: {method} sends no {kind} in phase {phase!r}. Its phases: {', '.join(sent[kind])}."
        )
    if wanted.name == "marvell" and kind != "gradient":
        problems.append(f"protect {entry!r}: marvell is for gradients alone. Use iso:{kind}.")
    if wanted.name == "gaussian" and kind in mixed:
        problems.append(
            f"protect {entry!r}: {mixed[kind]}. Clipping each row does not bound what one row changes then, and there "
            f"is no (ε, δ). Use noise:{kind} or iso:{kind}, which promise none."
        )
    return problems


def build(protect: object, seed: int) -> list[Noise]:
    """The protections in order; each draws by the run's seed, the sender, its name, its kind and its place."""
    made: list[Noise] = []
    for place, wanted in enumerate(map(parse, listed(protect))):
        purpose = (wanted.name, wanted.kind, str(place))
        first, last = wanted.numbers[0], wanted.numbers[-1]
        if wanted.name == "gaussian":
            made.append(ClippedGaussian(wanted.kind, last, seed, wanted.phases, purpose, clip=first))
        else:
            make = {"noise": GaussianNoise, "iso": Iso, "marvell": Marvell}[wanted.name]
            made.append(make(wanted.kind, last, seed, wanted.phases, purpose))
    return made
